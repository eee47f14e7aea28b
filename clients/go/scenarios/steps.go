// What each step of a scenario calls.

package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kgsvc/kgsvc/clients/go/kgsvc"
)

// arguments are those of a step, with `$name.part` as it was kept.
type arguments struct {
	step object
	kept kept
}

func (a arguments) any(name string) any { return a.kept.filled(a.step[name]) }

func (a arguments) text(name string) string {
	text, _ := a.any(name).(string)
	return text
}

func (a arguments) number(name string) int {
	number, _ := a.any(name).(float64)
	return int(number)
}

func (a arguments) is(name string) bool { return a.any(name) == true }

func (a arguments) time(name string) (at time.Time) {
	if text := a.text(name); text != "" {
		at = kgsvc.Must(time.Parse(time.RFC3339, text))
	}
	return at
}

func (a arguments) texts(name string) (texts []string) {
	list, _ := a.any(name).([]any)
	for _, each := range list {
		texts = append(texts, each.(string))
	}
	return texts
}

func (a arguments) items() (items []kgsvc.Addable) {
	for _, each := range a.any("items").([]any) {
		if text, is := each.(string); is {
			items = append(items, kgsvc.Text(text))
		} else {
			items = append(items, kgsvc.Said(each)...)
		}
	}
	return items
}

func perform(ctx context.Context, given setup, group *kgsvc.Group, a arguments) (any, error) {
	switch a.text("do") {
	case "control":
		return nil, control(given, a.text("action"))
	case "add":
		return group.Add(ctx, a.items(), &kgsvc.AddOptions{Time: a.time("time"), Key: a.text("key"), Wait: a.is("wait")})
	case "stream":
		return group.Stream(ctx, streamed(given, a), &kgsvc.StreamOptions{Time: a.time("time")})
	case "wait":
		return group.Wait(ctx, a.awaitable())
	case "search":
		return group.Search(ctx, a.text("query"), a.search())
	case "context":
		return group.Context(ctx, a.text("query"), a.search())
	case "entity":
		return group.Entity(ctx, a.text("uuid"), nil)
	case "history":
		return group.History(ctx, a.text("fact"))
	case "forget":
		return nil, group.Forget(ctx, kgsvc.Target{Document: a.text("document"), Fact: a.text("fact"), Everything: a.is("everything")})
	case "add_document":
		text := strings.Repeat(a.text("content"), max(1, a.number("repeat")))
		return group.AddDocument(ctx, kgsvc.DocumentInput{Text: text, ID: a.text("id"), Time: a.time("time")})
	case "document":
		return group.Document(ctx, a.text("id"), &kgsvc.DocumentOptions{Wait: a.is("wait")})
	case "documents":
		return collected(group.Documents(ctx))
	case "episodes":
		return collected(group.Episodes(ctx, &kgsvc.EpisodesOptions{PageSize: a.number("page_size")}))
	case "items":
		return collected(group.Items(ctx, a.texts("states")...))
	case "follow":
		return followed(ctx, group, a.text("cursor"))
	}
	return nil, fmt.Errorf("there is no such step")
}

func (a arguments) search() *kgsvc.SearchOptions {
	return &kgsvc.SearchOptions{Limit: a.number("limit"), AsOf: a.time("as_of"), Relations: a.texts("relations")}
}

// awaitable is a receipt by its id, or the whole of what was kept.
func (a arguments) awaitable() kgsvc.Awaitable {
	if whole, is := a.kept.raw[strings.TrimPrefix(a.step["receipt"].(string), "$")].(kgsvc.Awaitable); is {
		return whole
	}
	return kgsvc.ReceiptID(a.text("receipt"))
}

// streamed are the items of a stream, with actions of the control on the way.
func streamed(given setup, a arguments) iter.Seq[kgsvc.Addable] {
	return func(yield func(kgsvc.Addable) bool) {
		if a.step["items"] != nil {
			for _, item := range a.items() {
				if !yield(item) {
					return
				}
			}
			return
		}
		actions, _ := a.any("at").(object)
		for number := range a.number("count") {
			if action, is := actions[strconv.Itoa(number)].(string); is {
				if err := control(given, action); err != nil {
					panic(err)
				}
			}
			text := strings.ReplaceAll(a.text("text"), "{n}", strconv.Itoa(number))
			if !yield(kgsvc.Text(text + strings.Repeat("x", a.number("padding")))) {
				return
			}
		}
	}
}

// followed takes what is told until nothing more is.
func followed(ctx context.Context, group *kgsvc.Group, cursor string) (any, error) {
	told, facts, removed := object{}, []any{}, 0
	for changes, err := range group.Follow(ctx, cursor) {
		if err != nil {
			return nil, err
		}
		if told["reset"] == nil {
			told["reset"] = changes.Reset
		}
		for _, fact := range changes.Facts {
			facts = append(facts, fact.Text)
		}
		removed += len(changes.RemovedFacts)
		told["cursor"] = changes.Cursor
		if changes.Current {
			break
		}
	}
	told["facts"], told["removed_facts"] = facts, float64(removed)
	return told, nil
}

func control(given setup, action string) error {
	direct := http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
	answer, err := direct.Get(given.Control + "/" + action)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
