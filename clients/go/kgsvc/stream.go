// Streams of items that outlive the connections they are on.

package kgsvc

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"google.golang.org/grpc"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

type episodeStream = grpc.BidiStreamingClient[kgsvcv1.StreamEpisodesRequest, kgsvcv1.StreamEpisodesResponse]

// StreamOptions are those of Stream.
type StreamOptions struct {
	Time time.Time // of the first item that tells none; now by default
}

// Received iterates what a channel brings, until it is closed or the context ends.
func Received[T any](ctx context.Context, channel <-chan T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case item, open := <-channel:
				if !open || !yield(item) {
					return
				}
			}
		}
	}
}

// Stream sends any number of items, and returns when each is stored or refused. At most 1,024 items and 8 MiB are on
// their way: items is read no faster. Where the connection breaks, what was not answered is sent again. It fails when
// the service refuses the stream, or answers nothing for the client's timeout; the report tells how far it came.
func (g *Group) Stream(ctx context.Context, items iter.Seq[Addable], options *StreamOptions) (*Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	open := newWindow()
	over := make(chan struct{})
	go func() {
		defer close(over)
		g.client.deliver(ctx, open)
	}()
	err := g.feed(ctx, open, items, g.client.times(orDefault(options).Time))
	cancel()
	<-over
	return &open.report, err
}

// feed puts the items into a window and waits until all are answered.
func (g *Group) feed(ctx context.Context, open *window, items iter.Seq[Addable], next func() time.Time) error {
	for item := range items {
		sent, err := item.sent(next)
		if err != nil {
			return err
		}
		if sent == nil {
			continue
		}
		sent.GroupId = g.ID
		if err := open.put(ctx, sent, g.client.timeout); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ended(ctx)
	}
	open.close()
	return open.until(ctx, open.done, g.client.timeout)
}

// deliver sends what a window holds, on one stream after the other, until everything is answered.
func (c *Client) deliver(ctx context.Context, open *window) {
	again, before := attempts{client: c, most: forever}, 0
	for {
		open.reopened()
		failure := c.exchange(ctx, open)
		answered := open.answered()
		if answered > before {
			again.failed = 0
		}
		before = answered
		over := false
		open.change(func() { over, open.last = open.done(), failure })
		if over || ctx.Err() != nil {
			return
		}
		if err := again.pause(ctx, failure); err != nil {
			open.fail(err)
			return
		}
	}
}

// exchange is one stream until its end, and why it ended.
func (c *Client) exchange(ctx context.Context, open *window) *Error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.ingestion.StreamEpisodes(ctx)
	if err != nil {
		return failureOf(err, c.address, "")
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		send(ctx, stream, open)
	}()
	defer func() { cancel(); <-over }()
	for {
		told, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return &Error{Code: Broken, Message: "the service ended the stream too early"}
		}
		if err != nil {
			return failureOf(err, c.address, "")
		}
		if failure := open.answer(told); failure != nil {
			return failure
		}
	}
}

// send sends what the window has until it has no more. What fails is told where answers are received.
func send(ctx context.Context, stream episodeStream, open *window) {
	for {
		item := open.next(ctx)
		if item == nil {
			if ctx.Err() == nil {
				_ = stream.CloseSend() // which never fails
			}
			return
		}
		if stream.Send(item) != nil {
			return
		}
	}
}
