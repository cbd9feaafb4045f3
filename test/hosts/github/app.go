package github

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// validity is how long the token of an installation is valid.
const validity = time.Hour

// installation makes a token of the installation of an App.
func (s *Server) installation(w http.ResponseWriter, r *http.Request) {
	if why := s.checkJWT(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); why != "" {
		refuse(w, http.StatusUnauthorized, why)
		return
	}
	if r.PathValue("id") != "7" {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	s.mu.Lock()
	s.last++
	token, until := fmt.Sprintf("ghs_installation%d", s.last), s.o.Now().Add(validity)
	s.tokens[token] = until
	s.mu.Unlock()
	answer(w, r, http.StatusCreated, example(opInstallation, "201", map[string]any{"token": token, "expires_at": until.UTC().Format(time.RFC3339)}))
}

// checkJWT returns why a JWT of the App isn't valid, or "".
func (s *Server) checkJWT(jwt string) string {
	const undecodable = "A JSON web token could not be decoded"
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 || s.o.AppKey == nil {
		return undecodable
	}
	var header struct{ Alg string }
	var claims struct {
		Iss      any
		Iat, Exp int64
	}
	if decode(parts[0], &header) != nil || decode(parts[1], &claims) != nil || header.Alg != "RS256" {
		return undecodable
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err != nil || rsa.VerifyPKCS1v15(s.o.AppKey, crypto.SHA256, sum[:], signature) != nil {
		return undecodable
	}
	now := s.o.Now().Unix()
	switch {
	case fmt.Sprint(claims.Iss) != s.o.AppID:
		return "'Issuer' claim ('iss') must be an Integer"
	case claims.Iat > now:
		return "'Issued at' claim ('iat') must be an Integer representing a time in the past"
	case claims.Exp <= now:
		return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	case claims.Exp > now+600:
		return "'Expiration time' claim ('exp') is too far in the future"
	}
	return ""
}

// decode decodes a part of a JWT.
func decode(part string, into any) error {
	data, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
