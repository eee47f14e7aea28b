// Calls with their deadlines, and when they are tried again.

package kgsvc

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

const tries, forever = 5, math.MaxInt
const firstPause, longestPause = 100 * time.Millisecond, 5 * time.Second

type asking interface{ GetRequestId() string }

// attempts says when a call is tried again: after what may pass, for as long as its context has, and not too often.
type attempts struct {
	client *Client
	most   int           // failures in a row
	within time.Duration // how long they may go on; zero: as long as the context
	failed int
	until  time.Time
}

// pause waits until the next attempt, or returns the failure when there is none.
func (a *attempts) pause(ctx context.Context, failure *Error) error {
	if a.failed == 0 && a.within > 0 {
		a.until = a.client.now().Add(a.within)
	}
	a.failed++
	pause := min(firstPause<<min(a.failed-1, 16), longestPause)
	pause = pause/2 + time.Duration(a.client.chance()*float64(pause/2)) + failure.RetryAfter
	if !failure.Retryable() || a.failed >= a.most || ctx.Err() != nil || a.late(ctx, pause) {
		return failure
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// late tells whether a pause would last until after the deadline.
func (a *attempts) late(ctx context.Context, pause time.Duration) bool {
	over := a.client.now().Add(pause)
	deadline, bounded := ctx.Deadline()
	return bounded && !over.Before(deadline) || a.within > 0 && !over.Before(a.until)
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

// ended is the failure of a context that is done.
func ended(ctx context.Context) *Error {
	return failureOf(status.FromContextError(ctx.Err()).Err(), "", "")
}

// bounded gives a context a deadline, unless it has one.
func bounded(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, within)
}

// call returns an answer after as many attempts as it takes. Each may follow a failure that passes: it reads, or
// the service knows what it was sent before.
func call[Q asking, A any](ctx context.Context, c *Client,
	method func(context.Context, Q, ...grpc.CallOption) (A, error), ask Q) (answer A, err error) {
	ctx, cancel := bounded(ctx, c.timeout)
	defer cancel()
	again := attempts{client: c, most: tries}
	err = again.run(ctx, ask.GetRequestId(), func() (err error) {
		answer, err = method(ctx, ask)
		return err
	})
	return answer, err
}

// receive takes all answers of a stream, over as many streams as it takes; `once` tells that nothing is tried again
// after the first answer.
func receive[Q asking, A any](ctx context.Context, again attempts, once bool,
	method func(context.Context, Q, ...grpc.CallOption) (grpc.ServerStreamingClient[A], error), ask Q,
	take func(*A)) error {
	return again.run(ctx, ask.GetRequestId(), func() error {
		return answers(ctx, method, ask, func(answer *A) bool {
			again.failed = 0
			if once {
				again.most = 1
			}
			take(answer)
			return true
		})
	})
}

// answers takes what one stream answers, until it ends or `take` has enough.
func answers[Q, A any](ctx context.Context,
	method func(context.Context, Q, ...grpc.CallOption) (grpc.ServerStreamingClient[A], error), ask Q,
	take func(*A) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := method(ctx, ask)
	if err != nil {
		return err
	}
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !take(answer) {
			return nil
		}
	}
}

// pages iterates a listing; the error, if there is one, comes last.
func pages[T any](fetch func(token *string) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var token *string
		for {
			found, next, err := fetch(token)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, entry := range found {
				if !yield(entry, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			token = &next
		}
	}
}
