// Following what changes in a group.

package kgsvc

import (
	"context"
	"io"
	"iter"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

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
		wanted := true
		err := again.run(ctx, "", func() error {
			ask := &kgsvcv1.WatchGroupRequest{RequestId: g.client.id(),
				Input: &kgsvcv1.WatchGroupInput{GroupId: g.ID, Cursor: said(cursor)}}
			err := answers(ctx, g.client.RPC.WatchGroup, ask, func(told *kgsvcv1.WatchGroupResponse) bool {
				again.failed = 0
				changes := changesOf(told.GetOutput())
				wanted = yield(changes, nil)
				cursor = changes.Cursor
				return wanted
			})
			if err == nil && wanted {
				return io.ErrUnexpectedEOF // the service ended the stream
			}
			return err
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
