// Package certs gives webhook servers their certificates, without another program in the
// cluster. A Secret holds the certificate that all replicas serve, and that of the next
// rotation; the authorities of both are in the caBundle of the webhook configuration.
//
// [Keeper] is the entry point: it runs in every replica. Whoever comes first writes; all
// watch the Secret and serve what is in it. A rotation has two steps, so that no request
// meets a certificate that the API server doesn't trust yet:
//
//  1. After two thirds of the lifetime, the next certificate is made, and its authority
//     is added to the bundle.
//  2. When the configuration has the bundle, and some minutes have passed in which all API
//     servers have seen it, the next certificate is served.
//
// The authority of the certificate before it stays in the bundle until that certificate
// has expired: a replica may serve it until it has seen the Secret. The key of an authority
// signs one certificate and is not kept.
//
// The files: pair.go makes and reads certificates, secret.go decides about the next step as
// a pure function of the Secret, and keeper.go does the requests.
//
// Non-goals: certificates for other purposes, and certificates of cert-manager, which
// package operator/admission/serve reads from files.
package certs
