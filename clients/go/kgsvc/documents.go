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
	"time"

	kgsvcv1 "github.com/kgsvc/kgsvc/clients/go/kgsvc/v1"
)

// Of a document: what one call carries, what a message of a stream does, and when to look again how far it is.
const wholeBytes, partBytes, lookEvery = 3 * mebibyte, mebibyte, 250 * time.Millisecond

// DocumentInput is a document to be added, or a new text of one. It is the same document by ID, else by SourceURL,
// else by Path.
type DocumentInput struct {
	Path, Text                   string // the path of a file, which is read where neither Text nor Data is given
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
func Files(folder, pattern string) (found []string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if matches, _ := filepath.Match(pattern, filepath.Base(path)); matches && err == nil && !entry.IsDir() {
			found = append(found, path)
		}
		return err
	})
	return found, err
}

// AddDocument adds a document, or a new text of one.
func (g *Group) AddDocument(ctx context.Context, document DocumentInput) (*AddedDocument, error) {
	isText := document.Data == nil && (document.Text != "" || document.Path == "")
	if isText {
		document.Data = []byte(document.Text)
	} else if document.Data == nil {
		if err := document.load(); err != nil {
			return nil, err
		}
	}
	item := &kgsvcv1.DocumentItem{DocumentId: said(document.ID), Title: said(document.Title),
		SourceUrl: said(document.SourceURL), Author: said(document.Author), Path: said(filepath.ToSlash(document.Path)),
		ReferenceTime: stamped(document.Time, time.Now)}
	first, whole := document.Data, len(document.Data) <= wholeBytes
	if !whole {
		first = nil
	}
	if isText {
		item.Content = &kgsvcv1.DocumentItem_Text{Text: string(first)}
	} else {
		item.Content = &kgsvcv1.DocumentItem_Data{Data: first}
	}
	if !whole {
		return g.streamDocument(ctx, item, document.Data)
	}
	input := &kgsvcv1.AddDocumentsInput{GroupId: g.ID, Documents: []*kgsvcv1.DocumentItem{item}}
	output, err := call(ctx, g.client, g.client.RPC.AddDocuments, input)
	if err != nil || len(output.GetDocuments()) == 0 {
		return nil, cmp.Or(err, errors.New("the service does not say what became of the document"))
	}
	return addedDocumentOf(output.GetDocuments()[0]), nil
}

// load reads the file.
func (d *DocumentInput) load() (err error) {
	if about, err := os.Stat(d.Path); err == nil && d.Time.IsZero() {
		d.Time = about.ModTime()
	}
	d.Data, err = os.ReadFile(d.Path)
	return err
}

// streamDocument sends one that is larger than a call may be.
func (g *Group) streamDocument(ctx context.Context, item *kgsvcv1.DocumentItem, content []byte) (*AddedDocument, error) {
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
	for err == nil && len(content) > 0 {
		part := content[:min(partBytes, len(content))]
		content = content[len(part):]
		err = stream.Send(&kgsvcv1.StreamDocumentsRequest{More: part, Last: len(content) == 0})
	}
	_ = stream.CloseSend()
	if err != nil && !errors.Is(err, io.EOF) { // which says that the stream has ended: Recv tells why
		return nil, err
	}
	answer, err := stream.Recv()
	g.client.told.saw(answer.GetConsistencyToken())
	return answer, err
}

// DocumentOptions are those of Document: whether to wait until all of it is read, or as much as can be, and what only
// former texts said is withdrawn.
type DocumentOptions struct{ Wait bool }

// Document is a document and how far it is.
func (g *Group) Document(ctx context.Context, id string, options *DocumentOptions) (*Document, error) {
	wait := orDefault(options).Wait
	ctx, cancel := bounded(ctx, map[bool]time.Duration{true: waitTimeout, false: g.client.timeout}[wait])
	defer cancel()
	for {
		input := &kgsvcv1.GetDocumentInput{GroupId: g.ID, DocumentId: id}
		output, err := call(ctx, g.client, g.client.RPC.GetDocument, input)
		if err != nil {
			return nil, err
		}
		found := documentOf(output.GetDocument())
		settled := found.State == "processed" && found.Raw.GetSettled()
		if settled || found.State == "failed" || !wait {
			return &found, nil
		}
		if err := sleep(ctx, lookEvery); err != nil {
			return &found, err
		}
	}
}

// Documents lists the documents of the group, by id.
func (g *Group) Documents(ctx context.Context) iter.Seq2[Document, error] {
	input := &kgsvcv1.ListDocumentsInput{GroupId: g.ID}
	return listed(ctx, g.client, g.client.RPC.ListDocuments, input, (*kgsvcv1.ListDocumentsOutput).GetDocuments, documentOf)
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
