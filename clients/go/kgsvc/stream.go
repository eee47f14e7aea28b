// Streams that outlive the connections they are on: of items to the service, of changes from it.

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
	next := times(orDefault(options).Time)
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
		for err == nil {
			var answer *kgsvcv1.StreamEpisodesResponse
			if answer, err = stream.Recv(); err == nil {
				stall.Reset(w.client.timeout)
				select {
				case told <- answer:
				case <-ctx.Done():
				}
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
		if len(w.waiting) == 0 && w.given != nil {
			stall.Stop() // it is the caller's turn
		}
		select {
		case item, more := <-w.room():
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

// room is what brings more items; nothing while there is no room for them.
func (w *window) room() <-chan *kgsvcv1.StreamEpisodesRequest {
	if len(w.waiting) >= windowItems || w.bytes >= windowBytes {
		return nil
	}
	return w.given
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
	w.client.told.saw(told.GetConsistencyToken())
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

// Changes is what changed in a group, in one step: what is there now, and what is gone.
type Changes struct {
	Rev                                            int64  // of the graph: everything up to it has been told
	Cursor                                         string // where to go on, once this is dealt with
	Reset                                          bool   // forget what was told before: all that there is follows
	Current                                        bool   // there was nothing more when this was sent
	Entities                                       []Entity
	Facts                                          []Fact
	Episodes                                       []WatchedEpisode
	RemovedEntities, RemovedFacts, RemovedEpisodes []string
	Raw                                            *kgsvcv1.WatchGroupOutput
}

// WatchedEpisode is an episode with the entities that it names, by uuid.
type WatchedEpisode struct {
	Episode
	Entities []string
}

// Follow iterates what is in the group, and then every change of it, without end, over broken connections; cursor is
// that of the last changes that were dealt with, or empty. An error ends it: the service refuses it, is away for ten
// minutes, or the context is done.
func (g *Group) Follow(ctx context.Context, cursor string) iter.Seq2[*Changes, error] {
	return func(yield func(*Changes, error) bool) {
		again := attempts{client: g.client, most: forever, within: waitTimeout}
		input := &kgsvcv1.WatchGroupInput{GroupId: g.ID, Cursor: said(cursor)}
		err := receive(ctx, again, g.client.RPC.WatchGroup, input, func(told *kgsvcv1.WatchGroupResponse) bool {
			changes := changesOf(told.GetOutput())
			input.Cursor = &changes.Cursor // where the next stream begins
			return yield(changes, nil)
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

func changesOf(raw *kgsvcv1.WatchGroupOutput) *Changes {
	return &Changes{
		Rev: raw.GetRev(), Cursor: raw.GetCursor(), Reset: raw.GetReset_(), Current: raw.GetCurrent(),
		Entities: each(raw.GetEntities(), entityOf), Facts: each(raw.GetFacts(), factOf),
		Episodes: each(raw.GetEpisodes(), func(raw *kgsvcv1.WatchedEpisode) WatchedEpisode {
			return WatchedEpisode{episodeOf(raw.GetEpisode()), raw.GetEntityUuids()}
		}),
		RemovedEntities: raw.GetRemovedEntities(), RemovedFacts: raw.GetRemovedFacts(),
		RemovedEpisodes: raw.GetRemovedEpisodes(), Raw: raw,
	}
}
