// What calls answer, as plain types: states are lower-case words, a zero time is one that is not known.

package kgsvc

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

// Fact is something that is, or was, true of two things.
type Fact struct {
	UUID          string              `json:"uuid"`
	Text          string              `json:"text"`
	Relation      string              `json:"relation"`
	Source        string              `json:"source"`
	Target        string              `json:"target"`
	SourceUUID    string              `json:"source_uuid"`
	TargetUUID    string              `json:"target_uuid"`
	ValidAt       time.Time           `json:"valid_at,omitzero"`   // since when it is true
	InvalidAt     time.Time           `json:"invalid_at,omitzero"` // since when no longer; zero: still true as far as known
	CreatedAt     time.Time           `json:"created_at,omitzero"` // since when the service believes it
	ExpiredAt     time.Time           `json:"expired_at,omitzero"` // since when no longer
	ExpiredReason string              `json:"expired_reason,omitempty"`
	Episodes      []string            `json:"episodes"` // that state it
	Attributes    map[string]any      `json:"attributes,omitempty"`
	Raw           *kgsvcv1.FactResult `json:"-"` // the message of the contract, with the rest; so of the other types
}

// Episode is a text as it was added.
type Episode struct {
	UUID              string           `json:"uuid"`
	Name              string           `json:"name,omitempty"`
	Body              string           `json:"body"`
	Kind              string           `json:"kind"` // text, json, message or document
	ReferenceTime     time.Time        `json:"reference_time,omitzero"`
	CreatedAt         time.Time        `json:"created_at,omitzero"`
	SourceDescription string           `json:"source_description,omitempty"`
	SourceURL         string           `json:"source_url,omitempty"`
	Raw               *kgsvcv1.Episode `json:"-"`
}

// Entity is a thing that facts are about.
type Entity struct {
	UUID       string              `json:"uuid"`
	Name       string              `json:"name"`
	Summary    string              `json:"summary,omitempty"`
	Labels     []string            `json:"labels"`
	Aliases    []string            `json:"aliases"`
	Attributes map[string]any      `json:"attributes,omitempty"`
	CreatedAt  time.Time           `json:"created_at,omitzero"`
	Raw        *kgsvcv1.EntityNode `json:"-"`
}

// KnownEntity is an entity with what is known about it.
type KnownEntity struct {
	Entity
	Type     string    `json:"type"`
	Facts    []Fact    `json:"facts"`
	Episodes []Episode `json:"episodes"` // the latest that name it
}

// Chunk is a part of a document.
type Chunk struct {
	UUID       string                   `json:"uuid"`
	DocumentID string                   `json:"document_id"`
	Title      string                   `json:"title,omitempty"`
	Text       string                   `json:"text"`
	Headings   []string                 `json:"headings"`
	Page       int                      `json:"page,omitempty"`
	Raw        *kgsvcv1.ProvenanceChunk `json:"-"`
}

// Found is what a search found, the best first.
type Found struct {
	Facts    []Fact                     `json:"facts"`
	Entities []Entity                   `json:"entities"`
	Episodes []Episode                  `json:"episodes"`
	Chunks   []Chunk                    `json:"chunks"`
	Context  string                     `json:"context,omitempty"`
	Raw      *kgsvcv1.SearchGraphOutput `json:"-"`
}

// Citation is what a claim of an answer rests on.
type Citation struct {
	Number int    `json:"number"`
	Kind   string `json:"kind"` // fact, episode, chunk, entity or community
	UUID   string `json:"uuid"`
	Text   string `json:"text"`
}

// Answer is an answer in words.
type Answer struct {
	Text      string             `json:"text"`
	Known     bool               `json:"known"` // false: the memory does not hold the answer
	Citations []Citation         `json:"citations"`
	Sources   []string           `json:"sources"`
	Raw       *kgsvcv1.AskResult `json:"-"`
}

// Item is something on its way into the graph.
type Item struct {
	UUID      string    `json:"uuid"`
	Name      string    `json:"name,omitempty"`
	State     string    `json:"state"` // accepted, ..., completed, parked or deleted
	Attempts  int       `json:"attempts"`
	Reason    string    `json:"reason,omitempty"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// Outcome is what became of items that were waited for, by uuid.
type Outcome map[string]Item

// Parked lists those that could not be read; each says why.
func (o Outcome) Parked() []Item {
	var found []Item
	for _, item := range o {
		if item.State == "parked" {
			found = append(found, item)
		}
	}
	return found
}

// Awaitable is what Wait waits for: a *Receipt, a *Report, an *AddedDocument or a ReceiptID.
type Awaitable interface{ receipts() []string }

// ReceiptID is the id of a receipt that was kept.
type ReceiptID string

func (r ReceiptID) receipts() []string { return []string{string(r)} }

// Receipt is what a call added. Without an id: there was nothing to send.
type Receipt struct {
	ID    string         `json:"id"`
	Items []AcceptedItem `json:"items"`
}

func (r *Receipt) receipts() []string {
	if r.ID == "" {
		return nil
	}
	return []string{r.ID}
}

// AcceptedItem is one of the items that were added.
type AcceptedItem struct {
	UUID      string `json:"uuid"`
	Duplicate bool   `json:"duplicate"` // it was there before
	State     string `json:"state"`
}

// Report is what became of the items of a stream.
type Report struct {
	Stored     int       `json:"stored"`
	Duplicates int       `json:"duplicates"` // they were there before
	Refused    []Refusal `json:"refused"`
	Receipts   []string  `json:"receipts"` // one for each batch that the service stored
}

func (r *Report) receipts() []string { return r.Receipts }

// Refusal is an item of a stream that the service does not take: its number, from 0, and why.
type Refusal struct {
	Index   int    `json:"index"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// GroupSize tells how much a group holds.
type GroupSize struct {
	ID        string    `json:"id"`
	Episodes  int       `json:"episodes"`
	Entities  int       `json:"entities"`
	Facts     int       `json:"facts"`
	ChangedAt time.Time `json:"changed_at,omitzero"`
}

// Health tells what the service runs on.
type Health struct {
	Status           string `json:"status"`
	Version          string `json:"version"`
	ContractRevision int    `json:"contract_revision"`
	Store            string `json:"store"`
}

func factOf(raw *kgsvcv1.FactResult) Fact {
	return Fact{
		UUID: raw.GetUuid(), Text: raw.GetFact(), Relation: raw.GetName(),
		Source: raw.GetSourceName(), Target: raw.GetTargetName(),
		SourceUUID: raw.GetSourceNodeUuid(), TargetUUID: raw.GetTargetNodeUuid(),
		ValidAt: timeOf(raw.GetValidAt()), InvalidAt: timeOf(raw.GetInvalidAt()),
		CreatedAt: timeOf(raw.GetCreatedAt()), ExpiredAt: timeOf(raw.GetExpiredAt()), ExpiredReason: raw.GetExpiredReason(),
		Episodes: raw.GetEpisodes(), Attributes: objectOf(raw.GetAttributes()), Raw: raw,
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
	return Entity{
		UUID: raw.GetUuid(), Name: raw.GetName(), Summary: raw.GetSummary(), Labels: raw.GetLabels(),
		Aliases: raw.GetAliases(), Attributes: objectOf(raw.GetAttributes()), CreatedAt: timeOf(raw.GetCreatedAt()), Raw: raw,
	}
}

func chunkOf(hit *kgsvcv1.ChunkHit) Chunk {
	raw := hit.GetChunk()
	return Chunk{raw.GetChunkId(), raw.GetFullDocId(), raw.GetTitle(), raw.GetContent(), raw.GetHeadings(), int(raw.GetPage()), raw}
}

func foundOf(raw *kgsvcv1.SearchGraphOutput) *Found {
	return &Found{
		Facts:    each(raw.GetFacts(), func(hit *kgsvcv1.FactHit) Fact { return factOf(hit.GetFact()) }),
		Entities: each(raw.GetNodes(), func(hit *kgsvcv1.NodeHit) Entity { return entityOf(hit.GetNode()) }),
		Episodes: each(raw.GetEpisodes(), func(hit *kgsvcv1.EpisodeHit) Episode { return episodeOf(hit.GetEpisode()) }),
		Chunks:   each(raw.GetChunks(), chunkOf),
		Context:  raw.GetContext(), Raw: raw,
	}
}

func answerOf(raw *kgsvcv1.AskResult) *Answer {
	return &Answer{
		Text: raw.GetAnswer(), Known: raw.GetKnown(), Sources: raw.GetSourceTexts(), Raw: raw,
		Citations: each(raw.GetCitations(), func(raw *kgsvcv1.Citation) Citation {
			return Citation{int(raw.GetNumber()), word("CITATION_KIND_", raw.GetKind()), raw.GetUuid(), raw.GetText()}
		}),
	}
}

// processed is what receipts and listings tell of an item.
type processed interface {
	GetUuid() string
	GetName() string
	GetState() kgsvcv1.ItemState
	GetAttempts() int32
	GetReason() string
	GetUpdatedAt() *timestamppb.Timestamp
}

func itemOf[T processed](raw T) Item {
	return Item{raw.GetUuid(), raw.GetName(), stateOf(raw.GetState()), int(raw.GetAttempts()), raw.GetReason(), timeOf(raw.GetUpdatedAt())}
}

func receiptOf(id string, items []*kgsvcv1.AcceptedItem) *Receipt {
	return &Receipt{id, each(items, func(raw *kgsvcv1.AcceptedItem) AcceptedItem {
		return AcceptedItem{raw.GetUuid(), raw.GetDuplicate(), stateOf(raw.GetState())}
	})}
}

func groupSizeOf(raw *kgsvcv1.GroupSummary) GroupSize {
	return GroupSize{raw.GetGroupId(), int(raw.GetEpisodes()), int(raw.GetEntities()), int(raw.GetFacts()), timeOf(raw.GetChangedAt())}
}

func stateOf(state kgsvcv1.ItemState) string { return word("ITEM_STATE_", state) }

// word is a value of an enum without the prefix that all have.
func word(prefix string, value fmt.Stringer) string {
	return strings.ToLower(strings.TrimPrefix(value.String(), prefix))
}

func timeOf(stamp *timestamppb.Timestamp) time.Time {
	if stamp == nil {
		return time.Time{}
	}
	return stamp.AsTime()
}

func objectOf(object *structpb.Struct) map[string]any {
	if object == nil {
		return nil
	}
	return object.AsMap()
}

func each[F, T any](from []F, to func(F) T) []T {
	made := make([]T, len(from))
	for at, one := range from {
		made[at] = to(one)
	}
	return made
}
