// What can be added, and how it is sent: chat messages, texts, JSON.

package kgsvc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

// Addable is what can be added: a Message, a Note, a Text, or what Said makes of a message of a chat.
type Addable interface {
	sent(next func() time.Time) (*kgsvcv1.StreamEpisodesRequest, error) // nil: nobody said it
}

// Message is what somebody said. Name is who it was, Role user (by default), assistant or system.
type Message struct {
	Role, Content, Name, UUID    string
	Time                         time.Time
	SourceDescription, SourceURL string
}

// Note is a text, or anything else that is JSON, and when what it says was the case.
type Note struct {
	Body                         any
	Name, UUID                   string
	Time                         time.Time
	SourceDescription, SourceURL string
}

// Text is a note of text alone.
type Text string

// chat is a message that is known as JSON alone.
type chat struct{ message any }

var silent = []string{"system", "developer", "tool", "function"} // of chats: instructions, and what programs answered
var spoken = []any{"text", "input_text", "output_text"}          // parts of a content that are text

// Texts makes notes of texts.
func Texts(texts ...string) []Addable {
	return each(texts, func(text string) Addable { return Text(text) })
}

// Said makes messages of those of a chat as the OpenAI API takes them: whatever becomes JSON with role and content,
// such as the messages of its library. Instructions, and what tools answered, are not sent.
func Said[T any](messages ...T) []Addable {
	return each(messages, func(message T) Addable { return chat{message} })
}

func (t Text) sent(next func() time.Time) (*kgsvcv1.StreamEpisodesRequest, error) {
	return Note{Body: string(t)}.sent(next)
}

func (m Message) sent(next func() time.Time) (*kgsvcv1.StreamEpisodesRequest, error) {
	role, err := value[kgsvcv1.RoleType](kgsvcv1.RoleType_value, "ROLE_TYPE_", cmp.Or(m.Role, "user"))
	if err != nil {
		return nil, err
	}
	return &kgsvcv1.StreamEpisodesRequest{Item: &kgsvcv1.StreamEpisodesRequest_Message{Message: &kgsvcv1.Message{
		Uuid: said(m.UUID), RoleType: role, Role: said(m.Name), Content: m.Content, Timestamp: stamped(m.Time, next),
		SourceDescription: said(m.SourceDescription), SourceUrl: said(m.SourceURL),
	}}}, nil
}

func (n Note) sent(next func() time.Time) (*kgsvcv1.StreamEpisodesRequest, error) {
	source := kgsvcv1.Source_SOURCE_TEXT
	body, isText := n.Body.(string)
	if !isText {
		source = kgsvcv1.Source_SOURCE_JSON
		object, err := json.Marshal(n.Body)
		if err != nil {
			return nil, err
		}
		body = string(object)
	}
	return &kgsvcv1.StreamEpisodesRequest{Item: &kgsvcv1.StreamEpisodesRequest_Episode{Episode: &kgsvcv1.EpisodeItem{
		Uuid: said(n.UUID), Name: said(n.Name), Source: source, Body: body, ReferenceTime: stamped(n.Time, next),
		SourceDescription: said(n.SourceDescription), SourceUrl: said(n.SourceURL),
	}}}, nil
}

func (c chat) sent(next func() time.Time) (*kgsvcv1.StreamEpisodesRequest, error) {
	object, err := json.Marshal(c.message)
	if err != nil {
		return nil, err
	}
	var given struct {
		Role, Name, UUID   string
		Content, Timestamp any
	}
	if json.Unmarshal(object, &given) != nil || given.Role == "" {
		return nil, fmt.Errorf("%T is no message of a chat, with role and content", c.message)
	}
	message := Message{Role: given.Role, Content: spokenIn(given.Content), Name: given.Name, UUID: given.UUID}
	if message.Content == "" || slices.Contains(silent, given.Role) {
		return nil, nil
	}
	switch at := given.Timestamp.(type) {
	case string:
		message.Time, err = time.Parse(time.RFC3339, at)
	case float64:
		message.Time = time.UnixMilli(int64(at * 1_000))
	}
	if err != nil {
		return nil, err
	}
	return message.sent(next)
}

// spokenIn is the text of a content; of several parts those that are text.
func spokenIn(content any) string {
	parts, several := content.([]any)
	if !several {
		parts = []any{content}
	}
	var texts []string
	for _, part := range parts {
		if object, is := part.(map[string]any); is && slices.Contains(spoken, object["type"]) {
			part = object["text"]
		}
		if text, is := part.(string); is {
			texts = append(texts, text)
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// times tells the time of items that tell none: one millisecond after the other, so that they keep their order.
func times(first time.Time) func() time.Time {
	if first.IsZero() {
		first = time.Now().Truncate(time.Millisecond)
	}
	return func() time.Time {
		defer func() { first = first.Add(time.Millisecond) }()
		return first
	}
}

// stamped is absent for a zero time where there is no next one.
func stamped(at time.Time, next func() time.Time) *timestamppb.Timestamp {
	if at.IsZero() && next == nil {
		return nil
	} else if at.IsZero() {
		at = next()
	}
	return timestamppb.New(at)
}

// said is absent where there is nothing to say: older services refuse fields that they do not know.
func said[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}
