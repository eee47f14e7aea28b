// What the client makes of failures, broken streams and chats, with a service in the same process.

package kgsvc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

type serverStream = grpc.BidiStreamingServer[kgsvcv1.StreamEpisodesRequest, kgsvcv1.StreamEpisodesResponse]

// service answers as it is told, and keeps what it was sent.
type service struct {
	kgsvcv1.UnimplementedIngestionServiceServer
	add    func(number int) error
	stream func(number int, stream serverStream) error
	sent   []*kgsvcv1.AddEpisodesRequest
	told   metadata.MD
	opened atomic.Int32
}

func (s *service) AddEpisodes(ctx context.Context, ask *kgsvcv1.AddEpisodesRequest) (*kgsvcv1.AddEpisodesResponse, error) {
	s.sent = append(s.sent, ask)
	s.told, _ = metadata.FromIncomingContext(ctx)
	if err := s.add(len(s.sent)); err != nil {
		return nil, err
	}
	return &kgsvcv1.AddEpisodesResponse{Output: &kgsvcv1.AddEpisodesOutput{ReceiptId: "r"}}, nil
}

func (s *service) StreamEpisodes(stream serverStream) error {
	return s.stream(int(s.opened.Add(1)), stream)
}

func (s *service) client(t *testing.T) *Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	kgsvcv1.RegisterIngestionServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	client := Must(NewClient(&Options{Server: listener.Addr().String(), Token: "secret"}))
	client.chance = func() float64 { return 0 }
	t.Cleanup(func() { _ = client.Close(); server.Stop() })
	return client
}

// failing is a status as the service gives it.
func failing(code codes.Code, reason Code, retryAfter time.Duration) error {
	details := []protoadapt.MessageV1{
		&errdetails.ErrorInfo{Reason: string(reason), Metadata: map[string]string{"request_id": "theirs"}},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "input.items", Description: "is wrong"}}},
	}
	if retryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)})
	}
	return Must(status.New(code, "no").WithDetails(details...)).Err()
}

func added(client *Client) (*Receipt, error) {
	return client.Group("g").Add(context.Background(), Texts("Ann met Bea."), nil)
}

func TestWhatIsRefusedIsToldAndNotTriedAgain(t *testing.T) {
	for _, code := range []Code{InvalidArgument, LimitExceeded, NotFound, Conflict, Unauthenticated, PermissionDenied, Internal, "NEW"} {
		there := &service{add: func(int) error { return failing(codes.InvalidArgument, code, 0) }}
		_, err := added(there.client(t))
		var failure *Error
		if !errors.As(err, &failure) || !errors.Is(err, code) || errors.Is(err, Overloaded) || failure.Retryable() {
			t.Fatalf("%s is told as %v", code, err)
		}
		if failure.Message != "no" || failure.RequestID != "theirs" || failure.Fields[0] != (Violation{"input.items", "is wrong"}) {
			t.Errorf("%s lacks what the service said: %+v", code, failure)
		}
		if len(there.sent) != 1 {
			t.Errorf("%s was tried %d times", code, len(there.sent))
		}
	}
}

func TestWhatPassesIsTriedAgainWithTheSameKey(t *testing.T) {
	for _, code := range passing {
		there := &service{add: func(number int) error {
			if number < 3 {
				return failing(codes.Unavailable, code, time.Millisecond)
			}
			return nil
		}}
		if receipt, err := added(there.client(t)); err != nil || receipt.ID != "r" {
			t.Fatalf("%s: %v", code, err)
		}
		if len(there.sent) != 3 || !proto.Equal(there.sent[0], there.sent[2]) || there.sent[0].GetIdempotencyKey() == "" {
			t.Errorf("%s was sent as %v", code, there.sent)
		}
		if told := there.told; told.Get("authorization")[0] != "Bearer secret" || told.Get("kgsvc-errors")[0] != "status" {
			t.Errorf("the calls said %v", told)
		}
	}
}

func TestAttemptsEnd(t *testing.T) {
	busy := &service{add: func(int) error { return failing(codes.Unavailable, Overloaded, 0) }}
	if _, err := added(busy.client(t)); !errors.Is(err, Overloaded) || len(busy.sent) != tries {
		t.Errorf("%d tries, then %v", len(busy.sent), err)
	}
	tomorrow := &service{add: func(int) error { return failing(codes.ResourceExhausted, QuotaExceeded, time.Hour) }}
	_, err := added(tomorrow.client(t))
	var failure *Error
	if !errors.As(err, &failure) || failure.RetryAfter != time.Hour || len(tomorrow.sent) != 1 {
		t.Errorf("nobody waits longer than there is time: %d tries, then %v", len(tomorrow.sent), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancelled := &service{add: func(int) error { cancel(); return failing(codes.Unavailable, Overloaded, 0) }}
	if _, err = cancelled.client(t).Group("g").Add(ctx, Texts("Ann met Bea."), nil); err == nil || len(cancelled.sent) != 1 {
		t.Errorf("a cancelled call went on: %d tries, then %v", len(cancelled.sent), err)
	}
}

func TestAStreamSendsAgainWhatWasNotAnswered(t *testing.T) {
	const count, each = 100, 7
	var order []string
	there := &service{stream: func(number int, stream serverStream) error {
		for answered := 0; ; answered++ {
			item, err := stream.Recv()
			if err != nil {
				return nil
			}
			if number < 4 && answered == each {
				return status.Error(codes.Unavailable, "broken")
			}
			order = append(order, item.GetClientRef())
			answer := &kgsvcv1.StreamEpisodesResponse{ClientRef: item.GetClientRef(), Duplicate: item.GetClientRef() == "0"}
			if item.GetEpisode().GetBody() == "" {
				answer.Status, answer.Error = kgsvcv1.Status_STATUS_ERROR, &kgsvcv1.Error{ErrorCode: "INVALID_ARGUMENT"}
			}
			if err := stream.Send(answer); err != nil {
				return err
			}
		}
	}}
	items := slices.Concat(Texts("Ann met Bea.", ""), slices.Repeat(Texts("Ann met Cid."), count-2))
	report, err := there.client(t).Group("g").Stream(context.Background(), slices.Values(items), nil)
	if err != nil || report.Stored != count-2 || report.Duplicates != 1 || report.Refused[0].Index != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	for number, sent := range order {
		if sent != strconv.Itoa(number) {
			t.Fatalf("item %s was answered as the %dth", sent, number)
		}
	}
	if len(order) != count || there.opened.Load() != 4 {
		t.Errorf("%d items on %d streams", len(order), there.opened.Load())
	}
}

func TestAStreamReadsNoMoreThanIsBounded(t *testing.T) {
	var taken atomic.Int32
	there := &service{stream: func(_ int, stream serverStream) error {
		var held []string
		for {
			item, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if held = append(held, item.GetClientRef()); len(held) < windowItems && held[0] == "0" {
				continue
			}
			if most := int32(windowItems) + 2; held[0] == "0" && taken.Load() > most {
				return status.Error(codes.InvalidArgument, "too many at once")
			}
			for _, ref := range held {
				if err := stream.Send(&kgsvcv1.StreamEpisodesResponse{ClientRef: ref}); err != nil {
					return err
				}
			}
			held = nil
		}
	}}
	var items iter.Seq[Addable] = func(yield func(Addable) bool) {
		for range 3 * windowItems {
			taken.Add(1)
			if !yield(Text("Ann met Bea.")) {
				return
			}
		}
	}
	if report, err := there.client(t).Group("g").Stream(context.Background(), items, nil); err != nil || report.Stored != 3*windowItems {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestARefusedStreamEndsAndSaysSo(t *testing.T) {
	there := &service{stream: func(int, serverStream) error { return failing(codes.Unauthenticated, Unauthenticated, 0) }}
	endless := slices.Values(slices.Repeat(Texts("Ann met Bea."), 10*windowItems))
	if _, err := there.client(t).Group("g").Stream(context.Background(), endless, nil); !errors.Is(err, Unauthenticated) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := there.client(t).Group("g").Stream(ctx, Received(ctx, make(chan Addable)), nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// sentOf is what becomes of items, but for those that nobody said.
func sentOf(t *testing.T, items []Addable, first time.Time) []*kgsvcv1.StreamEpisodesRequest {
	t.Helper()
	next, made := times(first), []*kgsvcv1.StreamEpisodesRequest{}
	for _, item := range items {
		if sent := Must(item.sent(next)); sent != nil {
			made = append(made, sent)
		}
	}
	return made
}

func TestChatsAreTakenAsTheyAre(t *testing.T) {
	var chat []any
	given := `[{"role": "system", "content": "Be brief."}, {"role": "tool", "content": "42"}, {"role": "assistant", "content": null},
		{"role": "user", "name": "Ann", "content": " I met Bea. ", "timestamp": 1735689600},
		{"role": "assistant", "content": [{"type": "text", "text": "When?"}, {"type": "image_url"}, "Where?"], "timestamp": "2025-01-02T00:00:00+01:00"}]`
	if err := json.Unmarshal([]byte(given), &chat); err != nil {
		t.Fatal(err)
	}
	messages := sentOf(t, Said(chat...), time.Time{})
	if len(messages) != 2 {
		t.Fatal(messages)
	}
	if first := messages[0].GetMessage(); first.GetContent() != "I met Bea." || first.GetRole() != "Ann" || !first.GetTimestamp().AsTime().Equal(Day(2025, 1, 1)) {
		t.Error(first)
	}
	if second := messages[1].GetMessage(); second.GetContent() != "When?\nWhere?" || second.GetTimestamp().AsTime().Day() != 1 {
		t.Error(second)
	}
	notes := sentOf(t, []Addable{Text("One."), Note{Body: map[string]int{"two": 2}}}, Day(2025, 1, 1))
	if notes[1].GetEpisode().GetBody() != `{"two":2}` || notes[1].GetEpisode().GetSource() != kgsvcv1.Source_SOURCE_JSON {
		t.Fatal(notes)
	}
	if between := notes[1].GetEpisode().GetReferenceTime().AsTime().Sub(notes[0].GetEpisode().GetReferenceTime().AsTime()); between != time.Millisecond {
		t.Errorf("items without a time are %v apart", between)
	}
	for _, wrong := range [][]Addable{Said("text"), Said(map[string]any{"content": "x"}), {Message{Role: "nobody"}}} {
		if _, err := wrong[0].sent(times(time.Time{})); err == nil {
			t.Errorf("%v was taken", wrong)
		}
	}
}

func TestATokenDoesNotTravelReadableByAll(t *testing.T) {
	t.Setenv("KGSVC_SERVER", "memory.example:443")
	t.Setenv("KGSVC_TOKEN", "kgsvc_secret")
	if _, err := NewClient(nil); err == nil || strings.Contains(err.Error(), "kgsvc_secret") {
		t.Error(err)
	}
	if _, err := NewClient(&Options{TLS: true}); err != nil {
		t.Error(err)
	}
}
