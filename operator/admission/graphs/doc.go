// Package graphs decides about requests that write ResourceGraphs, as a validating
// webhook: the graph must be valid, and its author must be allowed to do what its nodes
// do. Without the second check, whoever may write graphs in a namespace has the rights of
// the accounts of graphs there.
//
// [Webhook] is the entry point. An author is one who writes the spec of a graph. One of
// three things suffices, asked in this order by SubjectAccessReviews:
//
//   - The author may impersonate the graph's service account.
//   - The author has every right that the nodes need, as [rbac.Rights] lists them. If the
//     author drops nodes, this includes the right to delete their objects.
//   - The author may act as the account by constrained impersonation (KEP-5284), with
//     every verb that the nodes need. What the API server demands of those who write roles
//     is then demanded of the account.
//
// The files: webhook.go reads a request and checks the graph, authors.go decides about the
// author, reviews.go asks the API server, with limits and a short memory.
//
// Non-goals: the package serves nothing and has no certificates; package
// operator/admission/serve does. It evaluates no CUE. It does not check deletions: whoever
// may delete a graph may have its objects deleted.
package graphs
