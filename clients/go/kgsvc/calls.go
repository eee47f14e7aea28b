// Calls with their deadlines, when they are tried again, and why they fail: docs/contract.md of the service says what
// each code means.

package kgsvc

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const tries, forever = 5, 1 << 30
const firstPause, longestPause = 100 * time.Millisecond, 5 * time.Second

// asked is a request with an id, which is the same in every attempt, with its input, and a key if there is one.
func asked[Q proto.Message](requestID string, input proto.Message, key ...string) Q {
	message := (*new(Q)).ProtoReflect().New()
	fields := message.Descriptor().Fields()
	message.Set(fields.ByName("request_id"), protoreflect.ValueOfString(requestID))
	message.Set(fields.ByName("input"), protoreflect.ValueOfMessage(input.ProtoReflect()))
	for _, each := range key {
		message.Set(fields.ByName("idempotency_key"), protoreflect.ValueOfString(each))
	}
	return message.Interface().(Q)
}

// attempts says when a call is tried again: after what may pass, for as long as its context has, and not too often.
type attempts struct {
	client *Client
	most   int           // failures in a row
	once   bool          // nothing is tried again after the first answer
	within time.Duration // how long they may go on; zero: as long as the context
	failed int
	until  time.Time
}

// pause waits until the next attempt, or returns the failure when there is none.
func (a *attempts) pause(ctx context.Context, failure *Error) error {
	if a.failed == 0 && a.within > 0 {
		a.until = time.Now().Add(a.within)
	}
	a.failed++
	pause := min(firstPause<<min(a.failed-1, 16), longestPause)
	pause = pause/2 + time.Duration(a.client.chance()*float64(pause/2)) + failure.RetryAfter
	over := time.Now().Add(pause)
	deadline, bounded := ctx.Deadline()
	late := bounded && !over.Before(deadline) || a.within > 0 && !over.Before(a.until)
	if !failure.Retryable() || a.failed >= a.most || ctx.Err() != nil || late {
		return failure
	}
	return sleep(ctx, pause)
}

// run tries something until it succeeds, or there is no next attempt.
func (a *attempts) run(ctx context.Context, requestID string, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		if err := a.pause(ctx, failureOf(err, a.client.address, requestID)); err != nil {
			return err
		}
	}
}

// sleep waits, unless its context ends.
func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return failureOf(status.FromContextError(ctx.Err()).Err(), "", "")
	}
}

// bounded gives a context a deadline, unless it has one.
func bounded(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, within)
}

// call returns the output of a call after as many attempts as it takes. Each may follow a failure that passes: it
// reads, or the service knows what it was sent before.
func call[Q proto.Message, A interface{ GetOutput() O }, O any](ctx context.Context, c *Client,
	method func(context.Context, Q, ...grpc.CallOption) (A, error), input proto.Message, key ...string) (output O, err error) {
	ctx, cancel := bounded(ctx, c.timeout)
	defer cancel()
	again, requestID := attempts{client: c, most: tries}, rand.Text()
	ask := asked[Q](requestID, input, key...)
	err = again.run(ctx, requestID, func() error {
		var trailer metadata.MD
		answer, err := method(ctx, ask, grpc.Trailer(&trailer))
		c.told.saw(trailer.Get(consistencyToken)...)
		output = answer.GetOutput()
		return err
	})
	return output, err
}

// receive takes answers of a stream, over as many streams as it takes, until one ends or `take` has enough. One whose
// failures are bounded by time has no end.
func receive[Q proto.Message, A any](ctx context.Context, again attempts,
	method func(context.Context, Q, ...grpc.CallOption) (grpc.ServerStreamingClient[A], error), input proto.Message,
	take func(*A) bool) error {
	requestID := rand.Text()
	return again.run(ctx, requestID, func() error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := method(ctx, asked[Q](requestID, input))
		for err == nil {
			var answer *A
			if answer, err = stream.Recv(); err != nil {
				again.client.told.saw(stream.Trailer().Get(consistencyToken)...)
				break
			}
			again.failed = 0
			if again.once {
				again.most = 1
			}
			if !take(answer) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) && again.within == 0 {
			return nil
		}
		return err
	})
}

// listed iterates a listing, of which each page holds entries; the error, if there is one, comes last.
func listed[Q proto.Message, A interface{ GetOutput() O }, O interface{ GetNextPageToken() string }, R, T any](
	ctx context.Context, c *Client, method func(context.Context, Q, ...grpc.CallOption) (A, error), input proto.Message,
	entries func(O) []R, view func(R) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		asked := proto.Clone(input)
		token := asked.ProtoReflect().Descriptor().Fields().ByName("page_token")
		for {
			page, err := call(ctx, c, method, asked)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, entry := range entries(page) {
				if !yield(view(entry), nil) {
					return
				}
			}
			if page.GetNextPageToken() == "" {
				return
			}
			asked.ProtoReflect().Set(token, protoreflect.ValueOfString(page.GetNextPageToken()))
		}
	}
}

// Code says what kind of failure it is; errors.Is(err, kgsvc.NotFound) asks for it.
type Code string

// What the service refuses. Conflict: it exists with other content, or several groups have the uuid. ReadOnly: an
// operator has switched writes off. Unimplemented: the service is older than this client.
const (
	InvalidArgument, LimitExceeded, MalformedRequest Code = "INVALID_ARGUMENT", "LIMIT_EXCEEDED", "MALFORMED_REQUEST"
	NotFound, Conflict, ReadOnly                     Code = "NOT_FOUND", "CONFLICT", "READ_ONLY"
	Unauthenticated, PermissionDenied                Code = "UNAUTHENTICATED", "PERMISSION_DENIED"
	Unimplemented, Internal                          Code = "UNIMPLEMENTED", "INTERNAL"
)

// What may pass. Of these the client makes Unreachable (no service answers), Broken (the connection did) and Cancelled.
// DeadlineExceeded: a write may have happened, and to send it again is safe.
const (
	Overloaded, QuotaExceeded, ShuttingDown                 Code = "OVERLOADED", "QUOTA_EXCEEDED", "SHUTTING_DOWN"
	StoreUnavailable, EmbedderUnavailable, ModelUnavailable Code = "STORE_UNAVAILABLE", "EMBEDDER_UNAVAILABLE", "MODEL_UNAVAILABLE"
	DeadlineExceeded, Unreachable, Broken, Cancelled        Code = "DEADLINE_EXCEEDED", "UNREACHABLE", "BROKEN", "CANCELLED"
)

var passing = []Code{Overloaded, QuotaExceeded, ShuttingDown, StoreUnavailable, EmbedderUnavailable, ModelUnavailable,
	DeadlineExceeded, Unreachable, Broken, Cancelled}

// What gRPC itself says where the service said nothing; ResourceExhausted: larger than a message may be.
var byStatus = map[codes.Code]Code{
	codes.Unavailable: Unreachable, codes.Internal: Broken, codes.Unknown: Broken, codes.ResourceExhausted: LimitExceeded,
	codes.DeadlineExceeded: DeadlineExceeded, codes.Canceled: Cancelled, codes.Unimplemented: Unimplemented,
	codes.Unauthenticated: Unauthenticated, codes.PermissionDenied: PermissionDenied,
}

// Error makes a code a target of errors.Is.
func (c Code) Error() string { return string(c) }

// Violation is a field of a request that was not acceptable, by its path, such as input.items[2].body.
type Violation struct{ Field, Description string }

// Error is a call that failed; errors.As finds it.
type Error struct {
	Code       Code
	Message    string
	Fields     []Violation   // every field of the request that was wrong
	RetryAfter time.Duration // how long to wait before trying again; zero: the service does not say
	RequestID  string        // names the call in the service's log
	cause      error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Unwrap returns the gRPC status.
func (e *Error) Unwrap() error { return e.cause }

// Is tells whether it has the code, or is what became of a context.
func (e *Error) Is(target error) bool {
	return target == e.Code || e.Code == DeadlineExceeded && target == context.DeadlineExceeded ||
		e.Code == Cancelled && target == context.Canceled
}

// Retryable tells whether the same call may succeed later.
func (e *Error) Retryable() bool { return slices.Contains(passing, e.Code) }

// failureOf makes an Error of a gRPC status, or of anything else that ended a call.
func failureOf(err error, address, requestID string) *Error {
	var made *Error
	if errors.As(err, &made) {
		return made
	}
	told := status.Convert(err)
	made = &Error{Code: cmp.Or(byStatus[told.Code()], Internal), Message: told.Message(), RequestID: requestID, cause: err}
	for _, detail := range told.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			made.Code = Code(detail.GetReason())
			made.RequestID = cmp.Or(detail.GetMetadata()["request_id"], requestID)
		case *errdetails.BadRequest:
			for _, each := range detail.GetFieldViolations() {
				made.Fields = append(made.Fields, Violation{each.GetField(), each.GetDescription()})
			}
		case *errdetails.RetryInfo:
			made.RetryAfter = detail.GetRetryDelay().AsDuration()
		}
	}
	switch made.Code {
	case Unreachable:
		made.Message = fmt.Sprintf("no service answers at %s: %s", address, made.Message)
	case Unimplemented:
		made.Message = address + " does not know this operation: is it older than this client?"
	}
	return made
}
