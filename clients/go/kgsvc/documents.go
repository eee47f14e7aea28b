// Documents: files and texts that are read as a whole.

package kgsvc

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

// Of a document: what one call carries, what a message of a stream does, and when to look again how far it is.
const wholeBytes, partBytes, lookEvery = 3 * mebibyte, mebibyte, 250 * time.Millisecond

// DocumentInput is a document to be added, or a new text of one. It is the same document by ID, else by SourceURL,
// else by Path.
type DocumentInput struct {
	Path                         string // of a file, which is read where neither Text nor Data is given
	Text                         string
	Data                         []byte // of a file in its own format
	ID, Title, SourceURL, Author string
	Time                         time.Time // when the text was true; by default when the file was last changed, or now
}

// AddedDocument is what became of a document that was sent. Arrival is new, revised, unchanged or outdated.
type AddedDocument struct {
	ID, Arrival         string
	Revision, NewChunks int
	Receipts            []string
}

func (a *AddedDocument) receipts() []string { return a.Receipts }

// Document is a document and how far it is. State is pending, processing, processed or failed.
type Document struct {
	ID, Title, State, Reason        string
	Revision, Chunks, ChunksInGraph int
	ReferenceTime                   time.Time
	Raw                             *kgsvcv1.Document
}

// Files lists the files in a folder, and in those below it, whose names match a pattern such as *.md.
func Files(folder, pattern string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		matches, err := filepath.Match(pattern, entry.Name())
		if matches {
			found = append(found, path)
		}
		return err
	})
	return found, err
}

// AddDocument adds a document, or a new text of one.
func (g *Group) AddDocument(ctx context.Context, document DocumentInput) (*AddedDocument, error) {
	item, err := g.client.documentItem(document)
	if err != nil {
		return nil, err
	}
	if max(len(item.GetText()), len(item.GetData())) > wholeBytes {
		return g.streamDocument(ctx, item)
	}
	answer, err := call(ctx, g.client, g.client.RPC.AddDocuments, &kgsvcv1.AddDocumentsRequest{
		RequestId: g.client.id(),
		Input:     &kgsvcv1.AddDocumentsInput{GroupId: g.ID, Documents: []*kgsvcv1.DocumentItem{item}}})
	added := answer.GetOutput().GetDocuments()
	if err != nil || len(added) == 0 {
		return nil, cmp.Or(err, errors.New("the service does not say what became of the document"))
	}
	return addedDocumentOf(added[0]), nil
}

func (c *Client) documentItem(given DocumentInput) (*kgsvcv1.DocumentItem, error) {
	item := &kgsvcv1.DocumentItem{DocumentId: said(given.ID), Title: said(given.Title), SourceUrl: said(given.SourceURL),
		Author: said(given.Author), Path: said(filepath.ToSlash(given.Path))}
	switch {
	case given.Data != nil:
		item.Content = &kgsvcv1.DocumentItem_Data{Data: given.Data}
	case given.Text != "" || given.Path == "":
		item.Content = &kgsvcv1.DocumentItem_Text{Text: given.Text}
	default:
		data, err := os.ReadFile(given.Path)
		if err != nil {
			return nil, err
		}
		item.Content = &kgsvcv1.DocumentItem_Data{Data: data}
		if about, err := os.Stat(given.Path); err == nil && given.Time.IsZero() {
			given.Time = about.ModTime()
		}
	}
	item.ReferenceTime = stamped(given.Time, c.now)
	return item, nil
}

// streamDocument sends one that is larger than a call may be.
func (g *Group) streamDocument(ctx context.Context, item *kgsvcv1.DocumentItem) (*AddedDocument, error) {
	content := item.GetData()
	if _, isText := item.GetContent().(*kgsvcv1.DocumentItem_Text); isText {
		content = []byte(item.GetText())
		item.Content = &kgsvcv1.DocumentItem_Text{}
	} else {
		item.Content = &kgsvcv1.DocumentItem_Data{}
	}
	ctx, cancel := bounded(ctx, waitTimeout)
	defer cancel()
	again := attempts{client: g.client, most: tries}
	var answer *kgsvcv1.StreamDocumentsResponse
	err := again.run(ctx, "", func() (err error) {
		answer, err = g.sendDocument(ctx, item, content)
		if refused := answer.GetError(); refused != nil {
			err = &Error{Code: Code(refused.GetErrorCode()), Message: refused.GetMessage(), RequestID: answer.GetRequestId()}
		}
		return err
	})
	return addedDocumentOf(answer.GetDocument()), err
}

func (g *Group) sendDocument(ctx context.Context, item *kgsvcv1.DocumentItem, content []byte) (
	*kgsvcv1.StreamDocumentsResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := g.client.RPC.StreamDocuments(ctx)
	if err != nil {
		return nil, err
	}
	err = stream.Send(&kgsvcv1.StreamDocumentsRequest{GroupId: g.ID, Document: item})
	for part := range slices.Chunk(content, partBytes) {
		if err == nil {
			content = content[len(part):]
			err = stream.Send(&kgsvcv1.StreamDocumentsRequest{More: part, Last: len(content) == 0})
		}
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if err != nil && !errors.Is(err, io.EOF) { // which says that the stream has ended: Recv tells why
		return nil, err
	}
	return stream.Recv()
}

// DocumentOptions are those of Document: whether to wait until all of it is read, or as much as can be, and what only
// former texts said is withdrawn.
type DocumentOptions struct{ Wait bool }

// Document is a document and how far it is.
func (g *Group) Document(ctx context.Context, id string, options *DocumentOptions) (*Document, error) {
	within := g.client.timeout
	if orDefault(options).Wait {
		within = waitTimeout
	}
	ctx, cancel := bounded(ctx, within)
	defer cancel()
	for {
		answer, err := call(ctx, g.client, g.client.RPC.GetDocument, &kgsvcv1.GetDocumentRequest{
			RequestId: g.client.id(), Input: &kgsvcv1.GetDocumentInput{GroupId: g.ID, DocumentId: id}})
		if err != nil {
			return nil, err
		}
		found := documentOf(answer.GetOutput().GetDocument())
		settled := found.State == "processed" && found.Raw.GetSettled()
		if settled || found.State == "failed" || !orDefault(options).Wait {
			return &found, nil
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return &found, ended(ctx)
		}
	}
}

// Documents lists the documents of the group, by id.
func (g *Group) Documents(ctx context.Context) iter.Seq2[Document, error] {
	return pages(func(token *string) ([]Document, string, error) {
		answer, err := call(ctx, g.client, g.client.RPC.ListDocuments, &kgsvcv1.ListDocumentsRequest{
			RequestId: g.client.id(), Input: &kgsvcv1.ListDocumentsInput{GroupId: g.ID, PageToken: token}})
		return each(answer.GetOutput().GetDocuments(), documentOf), answer.GetOutput().GetNextPageToken(), err
	})
}

func addedDocumentOf(raw *kgsvcv1.AddedDocument) *AddedDocument {
	return &AddedDocument{raw.GetDocumentId(), word("DOCUMENT_ARRIVAL_", raw.GetArrival()), int(raw.GetRevision()),
		int(raw.GetNewChunks()), raw.GetReceiptIds()}
}

func documentOf(raw *kgsvcv1.Document) Document {
	return Document{
		ID: raw.GetDocumentId(), Title: raw.GetTitle(), State: word("DOCUMENT_STATE_", raw.GetState()),
		Reason: raw.GetReason(), Revision: int(raw.GetRevision()), ReferenceTime: timeOf(raw.GetReferenceTime()),
		Chunks: int(raw.GetChunks()), ChunksInGraph: int(raw.GetChunksInGraph()), Raw: raw,
	}
}
