// Package kgsvc is a client of kgsvc, a memory service: what was said, what is known, and what was true when.
//
//	client, err := kgsvc.NewClient(nil)
//	memory := client.Group("alice")
//	receipt, err := memory.Add(ctx, kgsvc.Texts("Alice moved to Berlin."), &kgsvc.AddOptions{Wait: true})
//	text, err := memory.Context(ctx, "Where does Alice live?", nil)
//
// Every call ends with its context. Where that has no deadline, a call has the client's [Options].Timeout with all
// its attempts; waiting and reading of long documents have ten minutes, answers two. What fails is an [*Error].
package kgsvc

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"iter"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"regexp"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

const defaultAddress, consistencyToken = "127.0.0.1:50051", "kgsvc-consistency-token"
const defaultTimeout, waitTimeout = 30 * time.Second, 10 * time.Minute
const mebibyte = 1024 * 1024

var loopback = regexp.MustCompile(`^(127\.|localhost:|\[::1\]:|unix:)`)

// Options say where the service is and who calls. What is left out is read from KGSVC_SERVER, KGSVC_TOKEN,
// KGSVC_TLS_CA, KGSVC_TLS_CERT, KGSVC_TLS_KEY and KGSVC_TLS_NAME.
type Options struct {
	Server, Token   string            // host:port, 127.0.0.1:50051 by default, and what proves who calls
	TLS             bool              // with the usual authorities; a file below implies it
	TLSCA           string            // PEM file to trust instead of the usual authorities
	TLSCert, TLSKey string            // PEM files of the caller's own certificate and its key
	TLSName         string            // in the service's certificate, where that is not the address
	Timeout         time.Duration     // of a call with all its attempts; 30 s by default
	DialOptions     []grpc.DialOption // more for gRPC, such as OpenTelemetry's stats handler
}

// Client is a service, reached over one connection that goroutines share.
type Client struct {
	RPC        Stubs // for what this client has no word for
	address    string
	told       headers
	timeout    time.Duration
	connection *grpc.ClientConn
	chance     func() float64
}

// Stubs are the operations of the contract; what they answer with an error is a gRPC status.
type Stubs struct {
	kgsvcv1.IngestionServiceClient
	kgsvcv1.RetrievalServiceClient
	kgsvcv1.AdminServiceClient
}

// headers are what every call says: errors are to come as gRPC statuses; who calls; what it has seen before.
// Options.credentials saw to it that a token needs no more security.
type headers struct{ atomic.Value } // of a map

// GetRequestMetadata implements gRPC's credentials.
func (h *headers) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return h.Load().(map[string]string), nil
}

// saw has calls from here on see what one did that told these, of which the first counts that is not empty.
func (h *headers) saw(tokens ...string) {
	if token := cmp.Or(tokens...); token != "" {
		told := maps.Clone(h.Load().(map[string]string))
		told[consistencyToken] = token
		h.Store(told)
	}
}

// RequireTransportSecurity implements gRPC's credentials.
func (h *headers) RequireTransportSecurity() bool { return false }

// NewClient returns a client that connects with its first call; nil is the environment's.
func NewClient(options *Options) (*Client, error) {
	given := orDefault(options).fromEnvironment()
	transport, err := given.credentials()
	if err != nil {
		return nil, err
	}
	client := &Client{address: given.Server, timeout: cmp.Or(given.Timeout, defaultTimeout), chance: mathrand.Float64}
	told := map[string]string{"kgsvc-errors": "status"}
	if given.Token != "" {
		told["authorization"] = "Bearer " + given.Token
	}
	client.told.Store(told)
	patience := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second}
	client.connection, err = grpc.NewClient(given.Server, append([]grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithUserAgent("kgsvc-go/" + Version),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: patience, MinConnectTimeout: time.Second}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(8 * mebibyte)),
		grpc.WithPerRPCCredentials(&client.told),
	}, given.DialOptions...)...)
	if err != nil {
		return nil, err
	}
	client.RPC = Stubs{kgsvcv1.NewIngestionServiceClient(client.connection),
		kgsvcv1.NewRetrievalServiceClient(client.connection), kgsvcv1.NewAdminServiceClient(client.connection)}
	return client, nil
}

// Group returns the memory of a tenant.
func (c *Client) Group(id string) *Group { return &Group{ID: id, client: c} }

// Close ends the connection and all calls.
func (c *Client) Close() error { return c.connection.Close() }

// Health tells what the service runs on.
func (c *Client) Health(ctx context.Context) (*kgsvcv1.HealthcheckOutput, error) {
	return call(ctx, c, c.RPC.Healthcheck, &kgsvcv1.HealthcheckInput{})
}

// Groups lists the groups that the caller may read.
func (c *Client) Groups(ctx context.Context) iter.Seq2[*kgsvcv1.GroupSummary, error] {
	return listed(ctx, c, c.RPC.ListGroups, &kgsvcv1.ListGroupsInput{}, (*kgsvcv1.ListGroupsOutput).GetGroups,
		func(group *kgsvcv1.GroupSummary) *kgsvcv1.GroupSummary { return group })
}

func (o Options) fromEnvironment() Options {
	for name, field := range map[string]*string{"SERVER": &o.Server, "TOKEN": &o.Token, "TLS_CA": &o.TLSCA,
		"TLS_CERT": &o.TLSCert, "TLS_KEY": &o.TLSKey, "TLS_NAME": &o.TLSName} {
		*field = cmp.Or(*field, os.Getenv("KGSVC_"+name))
	}
	o.Server = cmp.Or(o.Server, defaultAddress)
	return o
}

func (o Options) credentials() (credentials.TransportCredentials, error) {
	if (o.TLSCert == "") != (o.TLSKey == "") {
		return nil, errors.New("TLSCert and TLSKey must be given together")
	}
	if !o.TLS && o.TLSCA == "" && o.TLSCert == "" {
		if o.Token != "" && !loopback.MatchString(o.Server) {
			return nil, fmt.Errorf("the token would travel to %s readable by all: use TLS or TLSCA", o.Server)
		}
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{ServerName: o.TLSName, MinVersion: tls.VersionTLS12}
	if o.TLSCA != "" {
		pem, err := os.ReadFile(o.TLSCA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", o.TLSCA)
		}
	}
	if o.TLSCert != "" {
		own, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return credentials.NewTLS(config), nil
}

// orDefault is what a pointer to options means.
func orDefault[T any](given *T) T {
	return *cmp.Or(given, new(T))
}

// Version of this package.
const Version = "0.1.0"

// Must returns the value, and panics where there is an error: for short programs.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Day is when a day begins, by UTC.
func Day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}
