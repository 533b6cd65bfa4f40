package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"driftless.dev/fleet"
	"driftless.dev/resource"
)

// Token is a caller and the hash of its bearer token; the token itself is
// nowhere kept.
type Token struct {
	// Name is for people and logs.
	Name string
	// Hash is HashToken of the secret.
	Hash [sha256.Size]byte
	// Actors are whom the caller may write as; none means agent alone.
	Actors []resource.Actor
}

// HashToken is what a Token keeps of its secret. A token is drawn at random
// and long, so that a plain hash is enough.
func HashToken(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

func validateTokens(tokens []Token) error {
	seen := map[[sha256.Size]byte]bool{HashToken(""): true, {}: true}
	for _, t := range tokens {
		if t.Name == "" {
			return errors.New("a token has no name")
		}
		if seen[t.Hash] {
			return fmt.Errorf("token %q is empty or given twice", t.Name)
		}
		seen[t.Hash] = true
	}
	return nil
}

// caller is who makes a request, and whom it may write as.
type caller struct {
	name   string
	actors []resource.Actor
}

// authenticate tells who the caller is.
func (s *Server) authenticate(r *http.Request) (caller, error) {
	if len(s.cfg.Tokens) > 0 {
		return s.byToken(r)
	}
	if s.mutualTLS() {
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
			return caller{}, &refusal{http.StatusUnauthorized, fleet.CodeUnauthorized, "a client certificate is required"}
		}
		// A certificate says which machine it is; for a person that is no proof.
		return caller{r.TLS.PeerCertificates[0].Subject.CommonName, []resource.Actor{resource.Agent, resource.System}}, nil
	}
	return caller{"local", []resource.Actor{resource.Agent, resource.System, resource.Human}}, nil
}

// byToken compares with every token, so that the time tells nothing.
func (s *Server) byToken(r *http.Request) (caller, error) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	hash := HashToken(secret)
	found := -1
	for i := range s.cfg.Tokens {
		if subtle.ConstantTimeCompare(hash[:], s.cfg.Tokens[i].Hash[:]) == 1 {
			found = i
		}
	}
	if found < 0 || !strings.EqualFold(scheme, "Bearer") || len(r.Header.Values("Authorization")) != 1 {
		return caller{}, &refusal{http.StatusUnauthorized, fleet.CodeUnauthorized, "a known bearer token is required: pass --token or set DRIFTLESS_TOKEN"}
	}
	t := &s.cfg.Tokens[found]
	if len(t.Actors) == 0 {
		return caller{t.Name, []resource.Actor{resource.Agent}}, nil
	}
	return caller{t.Name, t.Actors}, nil
}

// actor is whom the request writes as: the Driftless-Actor header, as far as
// the caller may claim it.
func (c *call) actor() (resource.Actor, error) {
	text, err := c.header(headerActor)
	if err != nil {
		return 0, err
	}
	actor, err := resource.ParseActor(text)
	if err != nil {
		return 0, malformed("%s: %v", headerActor, err)
	}
	if !slices.Contains(c.caller.actors, actor) {
		return 0, &refusal{http.StatusForbidden, fleet.CodeForbidden,
			fmt.Sprintf("%s may not write as %s, only as %v: use a token that allows it", c.caller.name, actor, c.caller.actors)}
	}
	return actor, nil
}

// checkHost refuses a Host header that is not this server's: a web page whose
// name was pointed at this address (DNS rebinding) sends its own.
func (s *Server) checkHost(r *http.Request) error {
	host := hostOf(r.Host)
	if host == "localhost" || s.hosts[host] || s.hosts["*"] {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		if ip.IsLoopback() || local != nil && local.AddrPort().Addr().Unmap() == ip.Unmap() {
			return nil
		}
	}
	return &refusal{http.StatusForbidden, fleet.CodeForbidden,
		fmt.Sprintf("host %.64q is not this node's: use its address, or add the name to the allowed hosts", host)}
}

// checkOrigin refuses a browser's write that another site started.
func (s *Server) checkOrigin(r *http.Request) error {
	if err := s.origin.Check(r); err != nil {
		return &refusal{http.StatusForbidden, fleet.CodeForbidden, err.Error()}
	}
	return nil
}

// hostOf is a Host header without its port, in lower case.
func hostOf(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(s, "[]"), "."))
}
