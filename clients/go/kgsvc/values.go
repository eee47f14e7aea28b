// What calls answer, as plain types: states are lower-case words, a zero time is one that is not known.

package kgsvc

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

// Fact is something that is, or was, true of two things.
type Fact struct {
	UUID, Text, Relation   string
	Source, Target         string
	SourceUUID, TargetUUID string
	ValidAt, InvalidAt     time.Time // since when it is true, and since when no longer; zero: still, as far as known
	CreatedAt, ExpiredAt   time.Time // since when the service believes it, and since when no longer
	ExpiredReason          string
	Episodes               []string // that state it
	Attributes             map[string]any
	Raw                    *kgsvcv1.FactResult // the message of the contract, with the rest; so is every other Raw
}

// Episode is a text as it was added. Kind is text, json, message or document.
type Episode struct {
	UUID, Name, Body, Kind       string
	ReferenceTime, CreatedAt     time.Time
	SourceDescription, SourceURL string
	Raw                          *kgsvcv1.Episode
}

// Entity is a thing that facts are about.
type Entity struct {
	UUID, Name, Summary string
	Labels, Aliases     []string
	Attributes          map[string]any
	CreatedAt           time.Time
	Raw                 *kgsvcv1.EntityNode
}

// KnownEntity is an entity with what is known about it, and the latest episodes that name it.
type KnownEntity struct {
	Entity
	Type     string
	Facts    []Fact
	Episodes []Episode
}

// Chunk is a part of a document.
type Chunk struct {
	UUID, DocumentID, Title, Text string
	Headings                      []string
	Page                          int
	Raw                           *kgsvcv1.ProvenanceChunk
}

// Found is what a search found, the best first.
type Found struct {
	Facts    []Fact
	Entities []Entity
	Episodes []Episode
	Chunks   []Chunk
	Context  string
	Raw      *kgsvcv1.SearchGraphOutput
}

// Answer is an answer in words. Known is false where the memory does not hold it.
type Answer struct {
	Text      string
	Known     bool
	Citations []*kgsvcv1.Citation // what its claims rest on
	Sources   []string
	Raw       *kgsvcv1.AskResult
}

// Item is something on its way into the graph. State is accepted, ..., completed, parked or deleted. A duplicate was
// there before, as Add tells; the last three tell of the work on it since.
type Item struct {
	UUID, Name, State string
	Duplicate         bool
	Reason            string
	Attempts          int
	UpdatedAt         time.Time
}

// Outcome is what became of items that were waited for, by uuid. One that is parked could not be read, and says why.
type Outcome map[string]Item

// Awaitable is what Wait waits for: a *Receipt, a *Report, an *AddedDocument or a ReceiptID.
type Awaitable interface{ receipts() []string }

// ReceiptID is the id of a receipt that was kept; empty: there was nothing to send.
type ReceiptID string

// Receipt is what a call added.
type Receipt struct {
	ID    ReceiptID
	Items []Item
}

// Report is what became of the items of a stream; duplicates were there before. It has a receipt for each batch that
// the service stored.
type Report struct {
	Stored, Duplicates int
	Refused            []Refusal
	Receipts           []string
}

// Refusal is an item of a stream that the service does not take: its number, from 0, and why.
type Refusal struct {
	Index   int
	Code    Code
	Message string
}

func (r ReceiptID) receipts() []string {
	if r == "" {
		return nil
	}
	return []string{string(r)}
}

func (r *Receipt) receipts() []string { return r.ID.receipts() }

func (r *Report) receipts() []string { return r.Receipts }

func factOf(raw *kgsvcv1.FactResult) Fact {
	return Fact{
		UUID: raw.GetUuid(), Text: raw.GetFact(), Relation: raw.GetName(),
		Source: raw.GetSourceName(), Target: raw.GetTargetName(),
		SourceUUID: raw.GetSourceNodeUuid(), TargetUUID: raw.GetTargetNodeUuid(),
		ValidAt: timeOf(raw.GetValidAt()), InvalidAt: timeOf(raw.GetInvalidAt()),
		CreatedAt: timeOf(raw.GetCreatedAt()), ExpiredAt: timeOf(raw.GetExpiredAt()), ExpiredReason: raw.GetExpiredReason(),
		Episodes: raw.GetEpisodes(), Attributes: raw.GetAttributes().AsMap(), Raw: raw,
	}
}

func episodeOf(raw *kgsvcv1.Episode) Episode {
	return Episode{
		UUID: raw.GetUuid(), Name: raw.GetName(), Body: raw.GetBody(), Kind: word("SOURCE_", raw.GetSource()),
		ReferenceTime: timeOf(raw.GetReferenceTime()), CreatedAt: timeOf(raw.GetCreatedAt()),
		SourceDescription: raw.GetSourceDescription(), SourceURL: raw.GetSourceUrl(), Raw: raw,
	}
}

func entityOf(raw *kgsvcv1.EntityNode) Entity {
	return Entity{raw.GetUuid(), raw.GetName(), raw.GetSummary(), raw.GetLabels(), raw.GetAliases(),
		raw.GetAttributes().AsMap(), timeOf(raw.GetCreatedAt()), raw}
}

func foundOf(raw *kgsvcv1.SearchGraphOutput) *Found {
	return &Found{
		Facts:    each(raw.GetFacts(), func(hit *kgsvcv1.FactHit) Fact { return factOf(hit.GetFact()) }),
		Entities: each(raw.GetNodes(), func(hit *kgsvcv1.NodeHit) Entity { return entityOf(hit.GetNode()) }),
		Episodes: each(raw.GetEpisodes(), func(hit *kgsvcv1.EpisodeHit) Episode { return episodeOf(hit.GetEpisode()) }),
		Chunks: each(raw.GetChunks(), func(hit *kgsvcv1.ChunkHit) Chunk {
			raw := hit.GetChunk()
			return Chunk{raw.GetChunkId(), raw.GetFullDocId(), raw.GetTitle(), raw.GetContent(), raw.GetHeadings(),
				int(raw.GetPage()), raw}
		}),
		Context: raw.GetContext(), Raw: raw,
	}
}

func itemOf(raw *kgsvcv1.ListedItem) Item {
	return Item{UUID: raw.GetUuid(), Name: raw.GetName(), State: word("ITEM_STATE_", raw.GetState()),
		Reason: raw.GetReason(), Attempts: int(raw.GetAttempts()), UpdatedAt: timeOf(raw.GetUpdatedAt())}
}

func receiptOf[T interface {
	GetReceiptId() string
	GetItems() []*kgsvcv1.AcceptedItem
}](raw T, err error) (*Receipt, error) {
	return &Receipt{ReceiptID(raw.GetReceiptId()), each(raw.GetItems(), func(raw *kgsvcv1.AcceptedItem) Item {
		return Item{UUID: raw.GetUuid(), State: word("ITEM_STATE_", raw.GetState()), Duplicate: raw.GetDuplicate()}
	})}, err
}

// word is a value of an enum without the prefix that all have.
func word(prefix string, value fmt.Stringer) string {
	return strings.ToLower(strings.TrimPrefix(value.String(), prefix))
}

// value is the one of an enum that a word stands for.
func value[E ~int32](values map[string]int32, prefix, word string) (E, error) {
	number, known := values[prefix+strings.ToUpper(word)]
	if !known {
		return 0, fmt.Errorf("there is no %s%s", prefix, strings.ToUpper(word))
	}
	return E(number), nil
}

func timeOf(stamp *timestamppb.Timestamp) time.Time {
	if stamp == nil {
		return time.Time{}
	}
	return stamp.AsTime()
}

func each[F, T any](from []F, to func(F) T) []T {
	made := make([]T, len(from))
	for at, one := range from {
		made[at] = to(one)
	}
	return made
}
