// The smallest use of kgsvc from Go: ingest an episode and a message, wait until both are in the graph, and
// find what they say.
//
//	go run ./example HOST:PORT
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/timestamppb"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

const group = "example-go"

var referenceTime = timestamppb.New(time.Date(2025, 1, 15, 9, 0, 0, 0, time.UTC))

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: example HOST:PORT")
	}
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(target string) error {
	channel, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer channel.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	ingestion := kgsvcv1.NewIngestionServiceClient(channel)
	retrieval := kgsvcv1.NewRetrievalServiceClient(channel)

	added, err := addEpisode(ctx, ingestion)
	if err != nil {
		return err
	}
	streamed, err := streamMessage(ctx, ingestion)
	if err != nil {
		return err
	}
	for _, receiptID := range []string{added, streamed} {
		if err := wait(ctx, ingestion, receiptID); err != nil {
			return err
		}
	}
	if err := search(ctx, retrieval, "Where does Alice work?", "Acme"); err != nil {
		return err
	}
	return search(ctx, retrieval, "Where does Bob live?", "Berlin")
}

// addEpisode returns the receipt. The uuid makes it safe to send again.
func addEpisode(ctx context.Context, ingestion kgsvcv1.IngestionServiceClient) (string, error) {
	uuid := "example-go-episode"
	response, err := ingestion.AddEpisodes(ctx, &kgsvcv1.AddEpisodesRequest{
		Input: &kgsvcv1.AddEpisodesInput{
			GroupId: group,
			Items: []*kgsvcv1.EpisodeItem{{
				Uuid:          &uuid,
				Source:        kgsvcv1.Source_SOURCE_TEXT,
				Body:          "Alice works at Acme.",
				ReferenceTime: referenceTime,
			}},
		},
	})
	if err != nil {
		return "", err
	}
	if response.GetStatus() != kgsvcv1.Status_STATUS_ACCEPTED {
		return "", fmt.Errorf("AddEpisodes: %s %s", response.GetStatus(), response.GetError())
	}
	return response.GetOutput().GetReceiptId(), nil
}

// streamMessage returns the receipt of one message sent and acknowledged on a stream.
func streamMessage(ctx context.Context, ingestion kgsvcv1.IngestionServiceClient) (string, error) {
	stream, err := ingestion.StreamEpisodes(ctx)
	if err != nil {
		return "", err
	}
	uuid, role := "example-go-message", "Bob"
	err = stream.Send(&kgsvcv1.StreamEpisodesRequest{
		GroupId:   group,
		ClientRef: "message-1",
		Item: &kgsvcv1.StreamEpisodesRequest_Message{Message: &kgsvcv1.Message{
			Uuid:      &uuid,
			RoleType:  kgsvcv1.RoleType_ROLE_TYPE_USER,
			Role:      &role,
			Content:   "I live in Berlin.",
			Timestamp: referenceTime,
		}},
	})
	// io.EOF says that the stream has ended; Recv then tells why.
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	ack, err := stream.Recv()
	if err != nil {
		return "", err
	}
	if ack.GetStatus() != kgsvcv1.Status_STATUS_ACCEPTED || ack.GetClientRef() != "message-1" {
		return "", fmt.Errorf("StreamEpisodes: %s %s", ack.GetStatus(), ack.GetError())
	}
	if err := stream.CloseSend(); err != nil {
		return "", err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("StreamEpisodes did not end after the last item: %v", err)
	}
	return ack.GetReceiptId(), nil
}

// wait follows a receipt until its items are terminal, and fails unless all are completed.
func wait(ctx context.Context, ingestion kgsvcv1.IngestionServiceClient, receiptID string) error {
	watch, err := ingestion.WatchReceipt(ctx, &kgsvcv1.WatchReceiptRequest{
		Input: &kgsvcv1.WatchReceiptInput{ReceiptId: receiptID},
	})
	if err != nil {
		return err
	}
	states := map[string]kgsvcv1.ItemState{}
	for {
		response, err := watch.Recv()
		if err != nil {
			return fmt.Errorf("WatchReceipt: %w", err)
		}
		if response.GetStatus() != kgsvcv1.Status_STATUS_OK {
			return fmt.Errorf("WatchReceipt: %s %s", response.GetStatus(), response.GetError())
		}
		for _, item := range response.GetOutput().GetItems() {
			states[item.GetUuid()] = item.GetState()
		}
		if response.GetOutput().GetDone() {
			break
		}
	}
	for uuid, state := range states {
		if state != kgsvcv1.ItemState_ITEM_STATE_COMPLETED {
			return fmt.Errorf("item %s ended as %s", uuid, state)
		}
		fmt.Printf("item %s is %s\n", uuid, state)
	}
	if len(states) == 0 {
		return fmt.Errorf("receipt %s names no item", receiptID)
	}
	return nil
}

// search prints the facts found and fails unless one of them says what is expected.
func search(ctx context.Context, retrieval kgsvcv1.RetrievalServiceClient, query, expected string) error {
	response, err := retrieval.SearchFacts(ctx, &kgsvcv1.SearchFactsRequest{
		Input: &kgsvcv1.SearchFactsInput{GroupIds: []string{group}, Query: query},
	})
	if err != nil {
		return err
	}
	if response.GetStatus() != kgsvcv1.Status_STATUS_OK {
		return fmt.Errorf("SearchFacts: %s %s", response.GetStatus(), response.GetError())
	}
	found := false
	for _, fact := range response.GetOutput().GetFacts() {
		fmt.Printf("%s -> %s [%s] told by %v\n", query, fact.GetFact(), fact.GetName(), fact.GetEpisodes())
		found = found || strings.Contains(fact.GetFact(), expected)
	}
	if !found {
		return fmt.Errorf("no fact found for %q names %s", query, expected)
	}
	return nil
}
