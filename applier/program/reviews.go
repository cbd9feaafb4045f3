package program

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// How long answers of the API server hold. They are those of the filter of
// controller-runtime, and of the API server's own extensions.
const (
	tokenTTL = time.Minute
	allowTTL = 5 * time.Minute
	denyTTL  = 30 * time.Second
)

const (
	// reviewTimeout bounds a review with its retries.
	reviewTimeout = 10 * time.Second
	// maxAnswers bounds the number of cached answers of each kind. The least recently
	// used one is dropped, so that clients with invented tokens don't fill the memory.
	maxAnswers = 4096
	// maxCachedRequest is the size in bytes of path and verb above which an answer is
	// not cached. Both are of the client's choice.
	maxCachedRequest = 10_000
)

// reviewer asks the API server who a client is, by a TokenReview, and what it may
// do, by a SubjectAccessReview. It does what controller-runtime's filter
// WithAuthenticationAndAuthorization does with the library of the API server, which
// would add 15 MB to the program.
//
// There are two differences. An invalid token is answered with 401 and not logged
// as an error, so that clients cannot fill the log. Tokens in the header of
// WebSockets are not read, because metrics are not served over WebSockets.
type reviewer struct {
	tokens authenticationclient.TokenReviewInterface
	access authorizationclient.SubjectAccessReviewInterface
	// users has the user, or nil, by the keyed hash of the token. allowed has a bool by
	// user, path and verb. Errors are not cached.
	users, allowed *cache.LRUExpireCache
	// flights joins concurrent reviews of one token.
	flights singleflight.Group
	// hashKey keeps clients from choosing tokens with equal hashes.
	hashKey []byte
	timeout time.Duration
}

// reviewFilter returns a filter that lets clients pass whom the API server
// authenticates and authorizes to use the verb of the request on its URL path. The
// program needs the right to create TokenReviews and SubjectAccessReviews.
func reviewFilter(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	r, err := newReviewer(config, client)
	if err != nil {
		return nil, err
	}
	return r.filter, nil
}

// newReviewer returns a reviewer that remembers no answers yet.
func newReviewer(config *rest.Config, client *http.Client) (*reviewer, error) {
	authentication, err := authenticationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	authorization, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	r := &reviewer{
		tokens: authentication.TokenReviews(), access: authorization.SubjectAccessReviews(),
		users: cache.NewLRUExpireCache(maxAnswers), allowed: cache.NewLRUExpireCache(maxAnswers),
		hashKey: make([]byte, sha256.Size), timeout: reviewTimeout,
	}
	_, _ = rand.Read(r.hashKey) // never fails
	return r, nil
}

// filter wraps next. It answers 401 to clients without a valid token, 403 to those
// that are not authorized, and 500 if the API server doesn't answer.
func (r *reviewer) filter(log logr.Logger, next http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		token := bearerToken(request)
		var user *authenticationv1.UserInfo
		var err error
		if token != "" {
			user, err = r.authenticate(request.Context(), token)
		}
		switch {
		case err != nil:
			log.Error(err, "authentication failed")
			http.Error(w, "Authentication failed", http.StatusInternalServerError)
			return
		case user == nil:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		allowed, err := r.authorize(request.Context(), *user, request.URL.Path, strings.ToLower(request.Method))
		switch {
		case err != nil:
			log.Error(err, "authorization failed", "user", user.Username)
			http.Error(w, "Authorization for user "+user.Username+" failed", http.StatusInternalServerError)
		case !allowed:
			log.V(1).Info("authorization denied", "user", user.Username)
			http.Error(w, "Authorization denied for user "+user.Username, http.StatusForbidden)
		default:
			// What is behind the filter needs no credentials.
			request.Header.Del("Authorization")
			next.ServeHTTP(w, request)
		}
	}), nil
}

// bearerToken returns the token of a request, or "".
func bearerToken(request *http.Request) string {
	fields := strings.Fields(request.Header.Get("Authorization"))
	if len(fields) < 2 || !strings.EqualFold(fields[0], "Bearer") {
		return ""
	}
	return fields[1]
}

// authenticate returns the user whose token it is, or nil if it is nobody's. The
// review is shared by concurrent requests with the token, so it doesn't end with
// the request that began it.
func (r *reviewer) authenticate(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
	hash := hmac.New(sha256.New, r.hashKey)
	hash.Write([]byte(token)) // never fails
	key := string(hash.Sum(nil))
	if user, ok := r.users.Get(key); ok {
		return user.(*authenticationv1.UserInfo), nil
	}
	flight := r.flights.DoChan(key, func() (any, error) {
		review, err := retry(context.WithoutCancel(ctx), r.timeout, func(ctx context.Context) (*authenticationv1.TokenReview, error) {
			// Without audiences, the token must be meant for the API server.
			review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
			return r.tokens.Create(ctx, review, metav1.CreateOptions{})
		})
		if err != nil {
			return nil, fmt.Errorf("creating a TokenReview: %w", err)
		}
		user := userOf(review.Status)
		r.users.Add(key, user, tokenTTL)
		return user, nil
	})
	select {
	case result := <-flight:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(*authenticationv1.UserInfo), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// userOf returns the user of a review, or nil if the token is not valid. Every
// authenticated user is a member of system:authenticated, which the API server
// itself need not say.
func userOf(status authenticationv1.TokenReviewStatus) *authenticationv1.UserInfo {
	if !status.Authenticated {
		return nil
	}
	user := status.User
	known := slices.ContainsFunc(user.Groups, func(group string) bool {
		return group == "system:authenticated" || group == "system:unauthenticated"
	})
	if !known && user.Username != "system:anonymous" {
		user.Groups = append(slices.Clip(user.Groups), "system:authenticated")
	}
	return &user
}

// authorize reports whether the user may use a verb on a URL path.
func (r *reviewer) authorize(ctx context.Context, user authenticationv1.UserInfo, path, verb string) (bool, error) {
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
	}
	for key, values := range user.Extra {
		spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return false, err
	}
	key := string(text)
	if allowed, ok := r.allowed.Get(key); ok {
		return allowed.(bool), nil
	}
	review, err := retry(ctx, r.timeout, func(ctx context.Context) (*authorizationv1.SubjectAccessReview, error) {
		return r.access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	})
	if err != nil {
		return false, fmt.Errorf("creating a SubjectAccessReview: %w", err)
	}
	allowed, ttl := review.Status.Allowed && !review.Status.Denied, denyTTL
	if allowed {
		ttl = allowTTL
	}
	if len(path)+len(verb) < maxCachedRequest {
		r.allowed.Add(key, allowed, ttl)
	}
	return allowed, nil
}

// retry calls create until it succeeds, up to 5 times within timeout, if the error
// is one that passes. It returns the last error of create.
func retry[T any](ctx context.Context, timeout time.Duration, create func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var result T
	last := ctx.Err()
	err := wait.ExponentialBackoffWithContext(ctx, wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5},
		func(ctx context.Context) (bool, error) {
			if result, last = create(ctx); last != nil && !passes(last) {
				return false, last
			}
			return last == nil, nil
		})
	if last != nil {
		return result, last
	}
	return result, err
}

// passes reports whether an error of the API server may pass.
func passes(err error) bool {
	_, delayed := apierrors.SuggestsClientDelay(err)
	return delayed || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}
