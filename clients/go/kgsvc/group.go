// What a group can be told and asked.

package kgsvc

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"strings"
	"time"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

const askTimeout, contextTokens, lastEpisodes = 2 * time.Minute, 2_000, 1_000

// Group is the memory of a tenant.
type Group struct {
	ID     string
	client *Client
}

// AddOptions are those of Add.
type AddOptions struct {
	Time time.Time // of the first item that tells none; now by default
	Key  string    // the same call with the same key within a day changes nothing; made anew by default
	Wait bool      // until everything is in the graph or parked
}

// Add adds messages of a chat, or texts and notes: all or none, at most 256.
func (g *Group) Add(ctx context.Context, items []Addable, options *AddOptions) (*Receipt, error) {
	given, c := orDefault(options), g.client
	messages, notes := &kgsvcv1.AddMessagesInput{GroupId: g.ID}, &kgsvcv1.AddEpisodesInput{GroupId: g.ID}
	next := times(given.Time)
	for _, item := range items {
		sent, err := item.sent(next)
		if err != nil {
			return nil, err
		}
		if message := sent.GetMessage(); message != nil {
			messages.Messages = append(messages.Messages, message)
		} else if note := sent.GetEpisode(); note != nil {
			notes.Items = append(notes.Items, note)
		}
	}
	receipt, err := &Receipt{}, error(nil)
	switch key := cmp.Or(given.Key, rand.Text()); {
	case len(messages.Messages) > 0 && len(notes.Items) > 0:
		return nil, errors.New("messages and notes go in calls of their own, or in Stream")
	case len(messages.Messages) > 0:
		receipt, err = receiptOf(call(ctx, c, c.RPC.AddMessages, messages, key))
	case len(notes.Items) > 0:
		receipt, err = receiptOf(call(ctx, c, c.RPC.AddEpisodes, notes, key))
	}
	if err == nil && given.Wait {
		_, err = g.Wait(ctx, receipt)
	}
	return receipt, err
}

// Wait waits until all that was added is in the graph, parked or deleted.
func (g *Group) Wait(ctx context.Context, added Awaitable) (Outcome, error) {
	ctx, cancel := bounded(ctx, waitTimeout)
	defer cancel()
	outcome := Outcome{}
	for _, id := range added.receipts() {
		input := &kgsvcv1.WatchReceiptInput{ReceiptId: id}
		again := attempts{client: g.client, most: forever}
		err := receive(ctx, again, g.client.RPC.WatchReceipt, input, func(told *kgsvcv1.WatchReceiptResponse) bool {
			for _, raw := range told.GetOutput().GetItems() {
				outcome[raw.GetUuid()] = Item{UUID: raw.GetUuid(), Name: raw.GetName(), State: word("ITEM_STATE_", raw.GetState()),
					Reason: raw.GetReason(), Attempts: int(raw.GetAttempts()), UpdatedAt: timeOf(raw.GetUpdatedAt())}
			}
			return true
		})
		if err != nil {
			return outcome, err
		}
	}
	return outcome, nil
}

// SearchOptions narrow a search down.
type SearchOptions struct {
	Limit            int
	Kind             string    // facts by default, or nodes, episodes, communities, chunks
	AsOf, KnownAsOf  time.Time // what was true, and what was known, then
	Relations, Types []string  // such as WORKS_AT, and of entities, such as Person
	ContextTokens    int       // also a text of it, to put before a language model; 2,000 for Context
}

// Search finds what bears on a query.
func (g *Group) Search(ctx context.Context, query string, options *SearchOptions) (*Found, error) {
	given := orDefault(options)
	input := &kgsvcv1.SearchGraphInput{
		GroupIds: []string{g.ID}, Query: query, MaxResults: said(int32(given.Limit)), Filters: filters(given),
		IncludeContext: said(given.ContextTokens != 0), ContextTokens: said(int32(given.ContextTokens)),
	}
	if given.Kind != "" && given.Kind != "facts" { // which are searched best without naming them
		kind, err := value[kgsvcv1.SearchScope](kgsvcv1.SearchScope_value, "SEARCH_SCOPE_", given.Kind)
		if err != nil {
			return &Found{}, err
		}
		input.SearchType = &kind
	}
	output, err := call(ctx, g.client, g.client.RPC.SearchGraph, input)
	return foundOf(output), err
}

func filters(given SearchOptions) *kgsvcv1.SearchFilters {
	return &kgsvcv1.SearchFilters{RelationNames: given.Relations, EntityTypes: given.Types,
		ValidAsOf: stamped(given.AsOf, nil), KnownAsOf: stamped(given.KnownAsOf, nil)}
}

// Context is what is known that bears on a query, as a text to put before a language model.
func (g *Group) Context(ctx context.Context, query string, options *SearchOptions) (string, error) {
	given := orDefault(options)
	given.ContextTokens = cmp.Or(given.ContextTokens, contextTokens)
	found, err := g.Search(ctx, query, &given)
	return found.Context, err
}

// AskOptions are those of Ask.
type AskOptions struct {
	AsOf, KnownAsOf time.Time          // what was true, and what was known, then
	OnPiece         func(piece string) // gets the answer as it is written
}

// Ask answers a question in words, from the memory alone.
func (g *Group) Ask(ctx context.Context, question string, options *AskOptions) (*Answer, error) {
	given := orDefault(options)
	ctx, cancel := bounded(ctx, askTimeout)
	defer cancel()
	result := &kgsvcv1.AskResult{}
	input := &kgsvcv1.AskInput{GroupIds: []string{g.ID}, Question: question,
		Filters: filters(SearchOptions{AsOf: given.AsOf, KnownAsOf: given.KnownAsOf})}
	again := attempts{client: g.client, most: tries, once: true}
	err := receive(ctx, again, g.client.RPC.Ask, input, func(told *kgsvcv1.AskResponse) bool {
		if told.GetOutput().GetResult() != nil {
			result = told.GetOutput().GetResult()
		} else if given.OnPiece != nil {
			given.OnPiece(told.GetOutput().GetPiece())
		}
		return true
	})
	return &Answer{result.GetAnswer(), result.GetKnown(), result.GetCitations(), result.GetSourceTexts(), result}, err
}

// History is a fact with those that it replaced and that replaced it, in the order they were written.
func (g *Group) History(ctx context.Context, factUUID string) ([]Fact, error) {
	input := &kgsvcv1.GetFactHistoryInput{Uuid: factUUID, GroupId: &g.ID}
	output, err := call(ctx, g.client, g.client.RPC.GetFactHistory, input)
	return each(output.GetFacts(), factOf), err
}

// EntityOptions are those of Entity: whether facts that ended are wanted, too.
type EntityOptions struct{ Ended bool }

// Entity is an entity with its facts and the latest episodes that name it.
func (g *Group) Entity(ctx context.Context, uuid string, options *EntityOptions) (*KnownEntity, error) {
	input := &kgsvcv1.GetEntityNodeInput{Uuid: uuid, GroupId: &g.ID, IncludeExpired: said(orDefault(options).Ended)}
	found, err := call(ctx, g.client, g.client.RPC.GetEntityNode, input)
	return &KnownEntity{entityOf(found.GetNode()), found.GetType(),
		each(found.GetFacts(), factOf), each(found.GetEpisodes(), episodeOf)}, err
}

// Target names what Forget deletes: one of these.
type Target struct {
	Episode    string // a uuid: with all that it alone supports
	Document   string // an id: with all that it alone supports
	Fact       string // a uuid
	Everything bool   // the whole group
}

// Forget deletes for good. Deleting what is not there is no error.
func (g *Group) Forget(ctx context.Context, target Target) (err error) {
	c, cascade := g.client, true
	switch target {
	case Target{}:
		fallthrough
	default:
		err = errors.New("name one of Episode, Document and Fact, or Everything")
	case Target{Episode: target.Episode}:
		input := &kgsvcv1.DeleteEpisodeInput{Uuid: target.Episode, GroupId: &g.ID, Cascade: &cascade}
		_, err = call(ctx, c, c.RPC.DeleteEpisode, input)
	case Target{Document: target.Document}:
		_, err = call(ctx, c, c.RPC.DeleteDocument, &kgsvcv1.DeleteDocumentInput{DocumentId: target.Document, GroupId: g.ID})
	case Target{Fact: target.Fact}:
		_, err = call(ctx, c, c.RPC.DeleteEntityEdge, &kgsvcv1.DeleteEntityEdgeInput{Uuid: target.Fact, GroupId: &g.ID})
	case Target{Everything: target.Everything}:
		_, err = call(ctx, c, c.RPC.DeleteGroup, &kgsvcv1.DeleteGroupInput{GroupId: g.ID})
	}
	return err
}

// Items lists what was added, in order; with states (accepted, parked, ...) what is in one of them.
func (g *Group) Items(ctx context.Context, states ...string) iter.Seq2[Item, error] {
	wanted := each(states, func(state string) kgsvcv1.ItemState {
		return kgsvcv1.ItemState(kgsvcv1.ItemState_value["ITEM_STATE_"+strings.ToUpper(state)])
	})
	input := &kgsvcv1.ListItemsInput{GroupId: g.ID, States: wanted}
	return listed(ctx, g.client, g.client.RPC.ListItems, input, (*kgsvcv1.ListItemsOutput).GetItems, itemOf)
}

// EpisodesOptions are those of Episodes: how many, 1,000 by default, and how many a call fetches.
type EpisodesOptions struct{ Last, PageSize int }

// Episodes lists the latest texts, the oldest of them first.
func (g *Group) Episodes(ctx context.Context, options *EpisodesOptions) iter.Seq2[Episode, error] {
	given := orDefault(options)
	input := &kgsvcv1.GetEpisodesInput{GroupId: g.ID, LastN: said(int32(cmp.Or(given.Last, lastEpisodes))),
		PageSize: said(int32(given.PageSize))}
	return listed(ctx, g.client, g.client.RPC.GetEpisodes, input, (*kgsvcv1.GetEpisodesOutput).GetEpisodes, episodeOf)
}
