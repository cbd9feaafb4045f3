package github

import (
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/pequod-io/pequod/actions/executor"
)

// The times of JWTs: GitHub refuses those that are valid for more than 10 minutes, and those that
// were issued in the future by its clock.
const (
	jwtBefore = time.Minute
	jwtAfter  = 8 * time.Minute
)

// renewBefore is how long before its end a token is replaced.
const renewBefore = 5 * time.Minute

// installation is a token of an installation of an App.
type installation struct {
	token string
	until time.Time
}

// asApp sends a request with a token of an App. A token that GitHub refuses is replaced once: it
// may have been revoked.
func (e *Executor) asApp(ctx context.Context, run executor.Run, r executor.Request) (*executor.Call, error) {
	// The Secret is read each time, so that the account's right to it ends with the right.
	secret, err := e.server.Secret(ctx, run, run.Request.GitHubWorkflow.Auth.App.PrivateKeySecretRef)
	if err != nil {
		return nil, err
	}
	app := run.Request.GitHubWorkflow.Auth.App
	key := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%d\n%d\n%s", run.Namespace, run.Account, serverOf(run), app.ID, app.InstallationID, secret)))
	for again := false; ; again = true {
		var kept bool
		if r.Bearer, kept, err = e.token(ctx, run, r, key, secret); err != nil {
			return nil, err
		}
		c, err := e.server.Call(ctx, run, r)
		if err != nil || c.Status != http.StatusUnauthorized || again || !kept {
			return c, err
		}
		e.tokens.Remove(key)
	}
}

// token returns a token of the installation, and whether it was kept from an earlier request.
func (e *Executor) token(ctx context.Context, run executor.Run, r executor.Request, key, secret string) (token string, kept bool, err error) {
	if value, ok := e.tokens.Get(key); ok {
		if i := value.(installation); e.now().Before(i.until.Add(-renewBefore)) {
			return i.token, true, nil
		}
	}
	app := run.Request.GitHubWorkflow.Auth.App
	signed, err := sign(secret, app.ID, e.now())
	if err != nil {
		return "", false, &executor.Error{Class: executor.Retry, Message: fmt.Sprintf("Secret %s, key %s: %v", app.PrivateKeySecretRef.Name, app.PrivateKeySecretRef.Key, err)}
	}
	c, err := e.server.Call(ctx, run, executor.Request{
		Method: http.MethodPost, URL: fmt.Sprintf("%s/app/installations/%d/access_tokens", serverOf(run), app.InstallationID),
		HTTPRequest: r.HTTPRequest, Bearer: signed,
	})
	if err != nil {
		return "", false, effectless(err)
	}
	if err := e.failure(c, http.StatusCreated); err != nil {
		return "", false, effectless(err)
	}
	var made struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	if err := json.Unmarshal(c.Body, &made); err != nil || made.Token == "" {
		return "", false, &executor.Error{Class: executor.Retry, Message: executor.PublicURL(c.URL) + " doesn't answer with a token"}
	}
	e.tokens.Add(key, installation{made.Token, made.ExpiresAt})
	return made.Token, false, nil
}

// effectless returns the error of a request that makes a token. Whatever has become of it, the run
// has not begun by it.
func effectless(err error) error {
	var known *executor.Error
	if errors.As(err, &known) && known.Class == executor.Unknown {
		return &executor.Error{Class: executor.Retry, After: known.After, Message: known.Message}
	}
	return err
}

// sign returns a JWT of an App.
func sign(secret string, id int64, now time.Time) (string, error) {
	key, err := privateKey(secret)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, nil)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: strconv.FormatInt(id, 10), IssuedAt: jwt.NewNumericDate(now.Add(-jwtBefore)), Expiry: jwt.NewNumericDate(now.Add(jwtAfter)),
	}).Serialize()
}

// privateKey parses the private key of an App. Errors don't quote it.
func privateKey(secret string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(secret))
	if block == nil {
		return nil, errors.New("it is not PEM")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if rsaKey, ok := key.(*rsa.PrivateKey); ok && err == nil {
		return rsaKey, nil
	}
	return nil, errors.New("it is not a private RSA key")
}
