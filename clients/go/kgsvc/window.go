// What a stream has sent or will send and has no answer for yet: bounded, and sent again if a stream breaks.

package kgsvc

import (
	"context"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

const (
	windowItems = 1_024
	windowBytes = 8 * mebibyte
)

// window holds items in the order given, until each is answered. Their client_ref is their number.
type window struct {
	lock     sync.Mutex
	changed  chan struct{} // closed, and another one made, with each change
	report   Report
	waiting  []*kgsvcv1.StreamEpisodesRequest
	bytes    int
	given    int
	sent     int // of those that wait: on the stream that is open
	doubtful int // of those that wait: sent on a stream that broke, hence perhaps stored
	closed   bool
	last     *Error // why the last stream ended; nil: something was answered since
	failed   error  // for good
}

func newWindow() *window { return &window{changed: make(chan struct{})} }

func (w *window) change(what func()) {
	w.lock.Lock()
	defer w.lock.Unlock()
	what()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *window) hasRoom() bool { return len(w.waiting) < windowItems && w.bytes < windowBytes }

func (w *window) done() bool { return w.closed && len(w.waiting) == 0 }

// put adds one more item, as soon as there is room.
func (w *window) put(ctx context.Context, item *kgsvcv1.StreamEpisodesRequest, stall time.Duration) error {
	if err := w.until(ctx, w.hasRoom, stall); err != nil {
		return err
	}
	w.change(func() {
		item.ClientRef = strconv.Itoa(w.given)
		w.given++
		w.waiting = append(w.waiting, item)
		w.bytes += proto.Size(item)
	})
	return nil
}

// close says that no more items come.
func (w *window) close() { w.change(func() { w.closed = true }) }

// fail ends all waiting.
func (w *window) fail(err error) { w.change(func() { w.failed = err }) }

// next is the item to send now, as soon as there is one; nil: this stream sends no more.
func (w *window) next(ctx context.Context) *kgsvcv1.StreamEpisodesRequest {
	for {
		w.lock.Lock()
		changed := w.changed
		if w.sent < len(w.waiting) {
			item := w.waiting[w.sent]
			w.sent++
			w.lock.Unlock()
			return item
		}
		ends := w.closed
		w.lock.Unlock()
		if ends {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// answer says that the service has dealt with the first that waits.
func (w *window) answer(told *kgsvcv1.StreamEpisodesResponse) (err *Error) {
	w.change(func() {
		if w.sent == 0 || told.GetClientRef() != w.waiting[0].GetClientRef() {
			err = &Error{Code: Internal, Message: "the service answered item " + told.GetClientRef() + " out of turn"}
			return
		}
		w.count(told, w.given-len(w.waiting))
		w.bytes -= proto.Size(w.waiting[0])
		w.waiting[0] = nil
		w.waiting = w.waiting[1:]
		w.sent--
		w.doubtful = max(0, w.doubtful-1)
		w.last = nil
	})
	return err
}

// count reports an item. One that was sent on a stream that broke may be a duplicate of itself.
func (w *window) count(told *kgsvcv1.StreamEpisodesResponse, index int) {
	switch {
	case told.GetStatus() == kgsvcv1.Status_STATUS_ERROR:
		refusal := Refusal{index, Code(told.GetError().GetErrorCode()), told.GetError().GetMessage()}
		w.report.Refused = append(w.report.Refused, refusal)
	case told.GetDuplicate() && w.doubtful == 0:
		w.report.Duplicates++
	default:
		w.report.Stored++
	}
	receipt, before := told.GetReceiptId(), len(w.report.Receipts)-1
	if receipt != "" && (before < 0 || w.report.Receipts[before] != receipt) {
		w.report.Receipts = append(w.report.Receipts, receipt)
	}
}

// reopened says that a new stream begins: everything that is not answered is sent again.
func (w *window) reopened() {
	w.change(func() {
		w.doubtful = max(w.doubtful, w.sent)
		w.sent = 0
	})
}

// answered is how many items are dealt with.
func (w *window) answered() int {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.given - len(w.waiting)
}

// until waits until something is reached, for as long as something is answered now and then.
func (w *window) until(ctx context.Context, reached func() bool, stall time.Duration) error {
	var timer *time.Timer // made only where there is something to wait for
	for before := -1; ; {
		w.lock.Lock()
		over, failed, last, changed, answered := reached(), w.failed, w.last, w.changed, w.given-len(w.waiting)
		w.lock.Unlock()
		if failed != nil {
			return failed
		}
		if over {
			return nil
		}
		if timer == nil {
			timer = time.NewTimer(stall)
			defer timer.Stop()
		} else if answered > before {
			timer.Reset(stall)
		}
		before = answered
		select {
		case <-changed:
		case <-ctx.Done():
			return ended(ctx)
		case <-timer.C:
			if last != nil {
				return last
			}
			return &Error{Code: DeadlineExceeded, Message: "nothing was answered in time"}
		}
	}
}
