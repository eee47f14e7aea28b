// What the client makes of streams that answer: Follow and Ask, with a service in the same process.

package kgsvc

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

// library answers by the number of the call.
type library struct {
	kgsvcv1.UnimplementedRetrievalServiceServer
	watch   func(number int, stream grpc.ServerStreamingServer[kgsvcv1.WatchGroupResponse]) error
	ask     func(number int, stream grpc.ServerStreamingServer[kgsvcv1.AskResponse]) error
	cursors []string
	asked   int
}

func (l *library) WatchGroup(ask *kgsvcv1.WatchGroupRequest, stream grpc.ServerStreamingServer[kgsvcv1.WatchGroupResponse]) error {
	l.cursors = append(l.cursors, ask.GetInput().GetCursor())
	return l.watch(len(l.cursors), stream)
}

func (l *library) Ask(_ *kgsvcv1.AskRequest, stream grpc.ServerStreamingServer[kgsvcv1.AskResponse]) error {
	l.asked++
	return l.ask(l.asked, stream)
}

func (l *library) group(t *testing.T) *Group {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	kgsvcv1.RegisterRetrievalServiceServer(server, l)
	go func() { _ = server.Serve(listener) }()
	client := Must(NewClient(&Options{Server: listener.Addr().String()}))
	client.chance = func() float64 { return 0 }
	t.Cleanup(func() { _ = client.Close(); server.Stop() })
	return client.Group("g")
}

func TestFollowGoesOnBehindWhatWasTold(t *testing.T) {
	there := &library{watch: func(number int, stream grpc.ServerStreamingServer[kgsvcv1.WatchGroupResponse]) error {
		if number == 4 {
			return failing(codes.PermissionDenied, PermissionDenied, 0)
		}
		told := &kgsvcv1.WatchGroupOutput{Rev: int64(number), Cursor: string(rune('a' + number)), Current: true}
		if err := stream.Send(&kgsvcv1.WatchGroupResponse{Output: told}); err != nil || number == 2 {
			return err // the second one just ends
		}
		return status.Error(codes.Unavailable, "broken")
	}}
	group := there.group(t)
	var revs []int64
	var last error
	for changes, err := range group.Follow(context.Background(), "a") {
		if last = err; err == nil {
			revs = append(revs, changes.Rev)
		}
	}
	if !slices.Equal(revs, []int64{1, 2, 3}) || !slices.Equal(there.cursors, []string{"a", "b", "c", "d"}) || !errors.Is(last, PermissionDenied) {
		t.Errorf("told %v after %v, then %v", revs, there.cursors, last)
	}
	there.cursors = nil
	for range group.Follow(context.Background(), "") {
		break
	}
	if len(there.cursors) != 1 {
		t.Errorf("a follower that has enough asked %d times", len(there.cursors))
	}
}

func TestAnAnswerThatHasBegunIsNotBegunAnew(t *testing.T) {
	there := &library{ask: func(number int, stream grpc.ServerStreamingServer[kgsvcv1.AskResponse]) error {
		piece := "Oslo."
		if number == 1 {
			return status.Error(codes.Unavailable, "broken")
		}
		if err := stream.Send(&kgsvcv1.AskResponse{Output: &kgsvcv1.AskOutput{Piece: &piece}}); err != nil || number == 3 {
			return errors.Join(err, status.Error(codes.Unavailable, "broken"))
		}
		known := true
		return stream.Send(&kgsvcv1.AskResponse{Output: &kgsvcv1.AskOutput{Result: &kgsvcv1.AskResult{Answer: &piece, Known: &known}}})
	}}
	group, pieces := there.group(t), []string{}
	options := &AskOptions{OnPiece: func(piece string) { pieces = append(pieces, piece) }}
	if answer, err := group.Ask(context.Background(), "Where?", options); err != nil || answer.Text != "Oslo." || !answer.Known {
		t.Fatal(answer, err)
	}
	if _, err := group.Ask(context.Background(), "Where?", options); err == nil || len(pieces) != 2 || there.asked != 3 {
		t.Errorf("%v after %d calls and %v", err, there.asked, pieces)
	}
}
