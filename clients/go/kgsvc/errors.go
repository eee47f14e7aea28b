// Why a call failed; the service's docs/contract.md says what each code means.

package kgsvc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Code says what kind of failure it is; errors.Is(err, kgsvc.NotFound) asks for it.
type Code string

// What the service refuses. Conflict: it exists with other content, or several groups have the uuid. Unimplemented: the
// service is older than this client.
const (
	InvalidArgument, LimitExceeded, MalformedRequest Code = "INVALID_ARGUMENT", "LIMIT_EXCEEDED", "MALFORMED_REQUEST"
	NotFound, Conflict                               Code = "NOT_FOUND", "CONFLICT"
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
type Violation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

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
	code, known := byStatus[told.Code()]
	if !known {
		code = Internal
	}
	made = &Error{Code: code, Message: told.Message(), RequestID: requestID, cause: err}
	for _, detail := range told.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			made.Code = Code(detail.GetReason())
			if named, ok := detail.GetMetadata()["request_id"]; ok {
				made.RequestID = named
			}
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
