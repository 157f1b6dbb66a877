package media

import (
	"context"
	"errors"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// CreateCollection implements MediaService.
func (s *Server) CreateCollection(ctx context.Context, req *mediav1.CreateCollectionRequest) (*mediav1.CreateCollectionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	c := Collection{Title: req.GetTitle(), Description: req.GetDescription(), Version: 1}
	var f check.Fields
	c.check(&f)
	if err := f.Err(); err != nil {
		return nil, err
	}
	c.ID, c.CreatedAt = id.Collection(s.newID()), s.clock(company)
	c.UpdatedAt = c.CreatedAt
	resp := &mediav1.CreateCollectionResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		resp.Collection = collectionMessage(c)
		addCollection(tx, company.ID, c)
		return s.outbox.AppendChange(ctx, tx, company.ID, c.ID, outbox.Fact{Field: "title", Value: c.Title})
	})
}

// GetCollection implements MediaService.
func (s *Server) GetCollection(ctx context.Context, req *mediav1.GetCollectionRequest) (*mediav1.GetCollectionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	collection, err := check.ID[id.Collection](req.GetId(), "collection")
	if err != nil {
		return nil, err
	}
	c, err := s.store.collection(ctx, company.ID, collection)
	if err != nil {
		return nil, err
	}
	return &mediav1.GetCollectionResponse{Collection: collectionMessage(c)}, nil
}

// ListCollections implements MediaService.
func (s *Server) ListCollections(ctx context.Context, req *mediav1.ListCollectionsRequest) (*mediav1.ListCollectionsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	p, err := pageOf(req, collectionOrders, "c")
	if err != nil {
		return nil, err
	}
	var f collectionFilter
	if f.updatedSince, err = check.Bound("updated_since", req.GetUpdatedSince()); err != nil {
		return nil, err
	}
	for _, text := range req.GetIds() { // a malformed one is left out, like one that does not exist
		collection, _ := id.Parse[id.Collection](text)
		f.ids = append(f.ids, collection)
	}
	found, total, err := s.store.collections(ctx, company.ID, f, p)
	if err != nil {
		return nil, err
	}
	resp := &mediav1.ListCollectionsResponse{Total: total}
	found, resp.NextPageToken = page.Cut(p, found, func(c *Collection) page.Cursor { return page.At(sortedBy(p, c.CreatedAt, c.UpdatedAt), c.ID.UUID()) })
	for _, c := range found {
		resp.Collections = append(resp.Collections, collectionMessage(c))
	}
	return resp, nil
}

// UpdateCollection implements MediaService.
func (s *Server) UpdateCollection(ctx context.Context, req *mediav1.UpdateCollectionRequest) (*mediav1.UpdateCollectionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	collection, err := check.ID[id.Collection](req.GetId(), "collection")
	if err != nil {
		return nil, err
	}
	resp := &mediav1.UpdateCollectionResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		before, err := s.store.lockCollection(ctx, tx, company.ID, collection)
		if err != nil {
			return err
		}
		if err := check.Version(before.Version, req.ExpectedVersion, "collection"); err != nil {
			return err
		}
		c := before
		set(&c.Title, req.Title)
		set(&c.Description, req.Description)
		var f check.Fields
		c.check(&f)
		if err := f.Err(); err != nil {
			return err
		}
		resp.Collection = collectionMessage(c)
		if c.Title == before.Title && c.Description == before.Description {
			return nil
		}
		c.Version++
		c.UpdatedAt = s.clock(company)
		saveCollection(tx, company.ID, c)
		resp.Collection = collectionMessage(c)
		return s.outbox.AppendChange(ctx, tx, company.ID, c.ID, outbox.Fact{Field: "title", Value: c.Title})
	})
}

// DeleteCollection implements MediaService. The items stay, and no longer name the collection.
func (s *Server) DeleteCollection(ctx context.Context, req *mediav1.DeleteCollectionRequest) (*mediav1.DeleteCollectionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	collection, err := check.ID[id.Collection](req.GetId(), "collection")
	if err != nil {
		return nil, err
	}
	resp, err := idem.Write(ctx, s.store, company.ID, req, &mediav1.DeleteCollectionResponse{}, s.deleteCollection(company, collection, req))
	if errors.Is(err, pg.ErrLockOrder) { // items were added during each attempt
		err = fault.Away(err)
	}
	return resp, err
}

// deleteCollection returns the transaction that deletes a collection.
func (s *Server) deleteCollection(company tenant, collection id.Collection, req *mediav1.DeleteCollectionRequest) func(context.Context, *pg.Tx) error {
	return func(ctx context.Context, tx *pg.Tx) error {
		c, items, err := s.store.lockCollectionToDelete(ctx, tx, company.ID, collection)
		if err != nil {
			return err
		}
		if err := check.Version(c.Version, req.ExpectedVersion, "collection"); err != nil {
			return err
		}
		entitlements, err := entitlementsOfCollection(ctx, tx, company.ID, collection)
		if err != nil {
			return err
		}
		now := s.clock(company)
		deleteCollection(tx, company.ID, collection, items, len(entitlements), now)
		events := entitlementsDeleted(company.ID, entitlements)
		for _, before := range items {
			events = append(events, itemUpdated(company.ID, before.without(collection, now), before))
		}
		if err := s.appendAll(ctx, tx, events); err != nil {
			return err
		}
		return s.outbox.AppendChange(ctx, tx, company.ID, c.ID, outbox.Fact{Field: "title", Value: c.Title})
	}
}

// appendAll appends events of a change that can concern many rows.
func (s *Server) appendAll(ctx context.Context, tx *pg.Tx, events []outbox.Event) error {
	if len(events) == 0 {
		return nil
	}
	return s.outbox.AppendAll(ctx, tx, events)
}
