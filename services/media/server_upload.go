package media

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// shownUpload returns the message of an upload. Only an open upload has an address for parts.
func (s *Server) shownUpload(company id.Company, u Upload) *mediav1.Upload {
	if u.Status != uploadOpen {
		return uploadMessage(u, "")
	}
	return uploadMessage(u, s.links.parts(partLink{company: company, upload: u.ID, expires: u.ExpiresAt}))
}

// CreateUpload implements MediaService. The response is stored without the address of parts.
func (s *Server) CreateUpload(ctx context.Context, req *mediav1.CreateUploadRequest) (*mediav1.CreateUploadResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	item, err := itemOf(req.GetItemId())
	if err != nil {
		return nil, err
	}
	i, err := s.store.item(ctx, company.ID, item)
	if err != nil {
		return nil, err
	}
	u, err := uploadOf(req, i.Kind, int64(s.settings.MaxFile))
	if err != nil {
		return nil, err
	}
	now := pg.Instant(s.now())
	u.ID, u.Item, u.ExpiresAt = id.Upload(s.newID()), item, now.Add(uploadLasts).Truncate(time.Second)
	resp := &mediav1.CreateUploadResponse{}
	resp, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		open, err := countOpen(ctx, tx, company.ID, item, now)
		if err != nil {
			return err
		}
		if open >= s.settings.MaxUploads {
			return fault.Refuse(ReasonTooManyUploads, "at most "+strconv.Itoa(s.settings.MaxUploads)+" uploads can be open; complete or cancel one")
		}
		addUpload(tx, company.ID, u, now)
		resp.Upload = uploadMessage(u, "") // the address of parts is a credential, and stored responses are not secret
		return s.outbox.AppendChange(ctx, tx, company.ID, item)
	})
	if err != nil {
		return nil, err
	}
	return resp, s.addPartURL(company.ID, resp.GetUpload())
}

// addPartURL sets the address of parts in the message of an upload. A replay gets the same address.
func (s *Server) addPartURL(company id.Company, u *mediav1.Upload) error {
	upload, err := id.Parse[id.Upload](u.GetId())
	if err != nil {
		return err
	}
	u.PartUrl = s.links.parts(partLink{company: company, upload: upload, expires: u.GetExpiresAt().AsTime()})
	return nil
}

// uploadIn reads the company, the item and the upload that a request names.
func (s *Server) uploadIn(ctx context.Context, itemText, uploadText string) (company tenant, item id.MediaItem, upload id.Upload, err error) {
	if company, err = s.tenant(ctx); err != nil {
		return company, item, upload, err
	}
	if item, err = itemOf(itemText); err != nil {
		return company, item, upload, err
	}
	upload, err = check.ID[id.Upload](uploadText, "upload")
	return company, item, upload, err
}

// GetUpload implements MediaService.
func (s *Server) GetUpload(ctx context.Context, req *mediav1.GetUploadRequest) (*mediav1.GetUploadResponse, error) {
	company, item, upload, err := s.uploadIn(ctx, req.GetItemId(), req.GetUploadId())
	if err != nil {
		return nil, err
	}
	u, err := s.store.upload(ctx, company.ID, item, upload)
	if err != nil {
		return nil, err
	}
	return &mediav1.GetUploadResponse{Upload: s.shownUpload(company.ID, u)}, nil
}

// joinWait is how long CompleteUpload waits for the parts to be joined.
const joinWait = 5 * time.Second

// joinTime returns joinWait, or less if the caller waits less: the response must arrive in time.
func joinTime(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(min(joinWait, time.Until(deadline)-time.Second), 0)
	}
	return joinWait
}

// CompleteUpload implements MediaService. The parts are joined in the background. If that takes long, the
// response has the status COMPLETING, and is not stored for the Idempotency-Key.
func (s *Server) CompleteUpload(ctx context.Context, req *mediav1.CompleteUploadRequest) (*mediav1.CompleteUploadResponse, error) {
	company, item, upload, err := s.uploadIn(ctx, req.GetItemId(), req.GetUploadId())
	if err != nil {
		return nil, err
	}
	ended, forget := s.joins.watch(upload)
	defer forget()
	stored := &mediav1.CompleteUploadResponse{}
	replayed, err := s.beginJoinOnce(ctx, company.ID, item, upload, req, stored)
	if err != nil {
		return nil, err
	}
	if replayed {
		return stored, nil
	}
	s.joins.wake()
	wait := time.NewTimer(joinTime(ctx))
	defer wait.Stop()
	select {
	case <-ended:
	case <-wait.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.completed(ctx, company, item, upload, req)
}

// beginJoinOnce has the parts of an upload joined, unless the response to the Idempotency-Key is stored
// already. It refuses a key that was used for another request.
func (s *Server) beginJoinOnce(ctx context.Context, company id.Company, item id.MediaItem, upload id.Upload, req, stored proto.Message) (replayed bool, err error) {
	err = s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		if replayed, err = idem.Seen(ctx, tx, req, stored); err != nil || replayed {
			return err
		}
		return s.beginJoin(ctx, tx, company, item, upload)
	})
	return replayed, err
}

// beginJoin has the parts of an open upload joined. It does nothing if that was requested before.
func (s *Server) beginJoin(ctx context.Context, tx *pg.Tx, company id.Company, item id.MediaItem, upload id.Upload) error {
	u, err := s.store.lockUpload(ctx, tx, company, upload)
	if err != nil {
		return err
	}
	switch {
	case u.Item != item:
		return fault.Missing("upload")
	case u.Status == uploadComplete:
		s.joins.ended(upload)
		return nil
	case u.Status == uploadCompleting:
		return nil
	}
	if err := u.requireComplete(s.now()); err != nil {
		return err
	}
	u.Status = uploadCompleting
	setUpload(tx, company, u, s.now())
	return s.outbox.AppendChange(ctx, tx, company, item)
}

// completed returns the response of CompleteUpload.
func (s *Server) completed(ctx context.Context, company tenant, item id.MediaItem, upload id.Upload, req *mediav1.CompleteUploadRequest) (*mediav1.CompleteUploadResponse, error) {
	u, err := s.store.upload(ctx, company.ID, item, upload)
	if err != nil {
		return nil, err
	}
	i, err := s.store.item(ctx, company.ID, item)
	if err != nil {
		return nil, err
	}
	resp := &mediav1.CompleteUploadResponse{Upload: s.shownUpload(company.ID, u), Item: s.shown(company, i)}
	switch u.Status {
	case uploadFailed:
		return nil, u.failure()
	case uploadOpen: // a part was damaged or missing in the bucket, and can have been sent again
		if err := errIncomplete(u.missing()); err != nil {
			return nil, err
		}
		return resp, nil
	case uploadCompleting:
		return resp, nil
	}
	stored := &mediav1.CompleteUploadResponse{}
	return idem.Write(ctx, s.store, company.ID, req, stored, func(context.Context, *pg.Tx) error {
		stored.Upload, stored.Item = resp.GetUpload(), resp.GetItem()
		return nil
	})
}

// CancelUpload implements MediaService.
func (s *Server) CancelUpload(ctx context.Context, req *mediav1.CancelUploadRequest) (*mediav1.CancelUploadResponse, error) {
	company, item, upload, err := s.uploadIn(ctx, req.GetItemId(), req.GetUploadId())
	if err != nil {
		return nil, err
	}
	resp := &mediav1.CancelUploadResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		u, err := s.store.lockUpload(ctx, tx, company.ID, upload)
		switch {
		case err != nil:
			return err
		case u.Item != item:
			return fault.Missing("upload")
		case u.Status == uploadComplete:
			return errComplete()
		}
		deleteUpload(tx, company.ID, upload, s.now())
		return s.outbox.AppendChange(ctx, tx, company.ID, item)
	})
}
