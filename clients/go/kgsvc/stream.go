// Streams of items that outlive the connections they are on.

package kgsvc

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

const windowItems, windowBytes = 1_024, 8 * mebibyte

// StreamOptions are those of Stream: the time of the first item that tells none is now by default.
type StreamOptions struct{ Time time.Time }

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
	defer cancel()
	given, over := make(chan *kgsvcv1.StreamEpisodesRequest), make(chan error, 1)
	open := &window{client: g.client, given: given}
	go func() { over <- open.deliver(ctx) }()
	next := g.client.times(orDefault(options).Time)
	for item := range items {
		sent, err := item.sent(next)
		if err != nil {
			cancel()
			<-over
			return &open.report, err
		}
		if sent == nil {
			continue
		}
		sent.GroupId = g.ID
		select {
		case given <- sent:
		case err := <-over:
			return &open.report, err
		}
	}
	if ctx.Err() == nil { // else the items ended too early
		close(given)
	}
	err := <-over
	return &open.report, err
}

// window is what was given and has no answer yet, in order: bounded, and sent again if a stream breaks. The client_ref
// of an item is its number.
type window struct {
	client   *Client
	given    <-chan *kgsvcv1.StreamEpisodesRequest // nil: no more come
	report   Report
	waiting  []*kgsvcv1.StreamEpisodesRequest
	bytes    int
	answered int
	doubtful int // of those that wait: perhaps stored, by a stream that broke
}

// deliver sends what is given, on one stream after the other, until everything is answered.
func (w *window) deliver(ctx context.Context) error {
	again := attempts{client: w.client, most: forever, within: w.client.timeout}
	for {
		before := w.answered
		failure := w.exchange(ctx)
		if w.given == nil && len(w.waiting) == 0 {
			return nil
		}
		if w.answered > before {
			again.failed = 0
		}
		if failure.Code == DeadlineExceeded {
			return failure
		}
		if err := again.pause(ctx, failure); err != nil {
			return err
		}
		w.doubtful = len(w.waiting)
	}
}

// exchange is one stream until its end, and why it ended. It is cut when nothing is answered for too long.
func (w *window) exchange(ctx context.Context) *Error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(w.client.timeout, func() { cancel(context.DeadlineExceeded) })
	defer stall.Stop()
	stream, err := w.client.RPC.StreamEpisodes(ctx)
	if err != nil {
		return w.failure(ctx, err)
	}
	told := make(chan *kgsvcv1.StreamEpisodesResponse, windowItems)
	go func() {
		defer close(told)
		for {
			var answer *kgsvcv1.StreamEpisodesResponse
			if answer, err = stream.Recv(); err != nil {
				return
			}
			stall.Reset(w.client.timeout)
			select {
			case told <- answer:
			case <-ctx.Done():
			}
		}
	}()
	for _, item := range w.waiting { // what fails is told by Recv
		_ = stream.Send(item)
	}
	if w.given == nil {
		_ = stream.CloseSend()
	}
	for {
		given := w.given
		if len(w.waiting) >= windowItems || w.bytes >= windowBytes {
			given = nil
		}
		if len(w.waiting) == 0 && given != nil {
			stall.Stop() // it is the caller's turn
		}
		select {
		case item, more := <-given:
			if !more {
				w.given = nil
				_ = stream.CloseSend()
				continue
			}
			if len(w.waiting) == 0 {
				stall.Reset(w.client.timeout)
			}
			w.put(item)
			_ = stream.Send(item)
		case answer, more := <-told:
			if !more {
				return w.failure(ctx, err)
			}
			if failure := w.take(answer); failure != nil {
				return failure
			}
		}
	}
}

func (w *window) failure(ctx context.Context, err error) *Error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &Error{Code: DeadlineExceeded, Message: "nothing was answered in time", cause: err}
	}
	return failureOf(err, w.client.address, "") // an EOF is as good as a broken stream
}

func (w *window) put(item *kgsvcv1.StreamEpisodesRequest) {
	item.ClientRef = strconv.Itoa(w.answered + len(w.waiting))
	w.waiting = append(w.waiting, item)
	w.bytes += proto.Size(item)
}

// take says that the service has dealt with the first that waits. It may be a duplicate of itself if it is doubtful.
func (w *window) take(told *kgsvcv1.StreamEpisodesResponse) *Error {
	if len(w.waiting) == 0 || told.GetClientRef() != w.waiting[0].GetClientRef() {
		return &Error{Code: Internal, Message: "the service answered item " + told.GetClientRef() + " out of turn"}
	}
	report, last := &w.report, len(w.report.Receipts)-1
	switch {
	case told.GetStatus() == kgsvcv1.Status_STATUS_ERROR:
		refusal := Refusal{w.answered, Code(told.GetError().GetErrorCode()), told.GetError().GetMessage()}
		report.Refused = append(report.Refused, refusal)
	case told.GetDuplicate() && w.doubtful == 0:
		report.Duplicates++
	default:
		report.Stored++
	}
	if receipt := told.GetReceiptId(); receipt != "" && (last < 0 || report.Receipts[last] != receipt) {
		report.Receipts = append(report.Receipts, receipt)
	}
	w.bytes -= proto.Size(w.waiting[0])
	w.waiting[0] = nil
	w.waiting = w.waiting[1:]
	w.answered++
	w.doubtful = max(0, w.doubtful-1)
	return nil
}
