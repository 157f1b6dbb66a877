package media

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// Server implements MediaService, and serves files over HTTP (Handler). The server_*.go files have the
// other RPCs, the http_*.go files the requests for files, and the jobs_*.go files the background work.
type Server struct {
	mediav1.UnimplementedMediaServiceServer
	customerv1.UnimplementedCustomerDeletionServiceServer

	store     *store
	outbox    *outbox.Outbox
	companies *tenancy.Companies
	clients   *Clients
	bucket    *bucket
	links     *links
	settings  Settings
	metrics   *metrics
	log       *slog.Logger
	joins     *joins
	parts     *slots[id.Company] // of requests that send parts
	playbacks *slots[id.Company] // of requests that play files
	covers    *slots[id.Company] // of requests that read covers
	players   *slots[player]     // of requests that play files
	probed    atomic.Bool
	now       func() time.Time
	newID     func() id.UUID
}

// Deps are what a server is made of.
type Deps struct {
	DB        *pg.DB
	Outbox    *outbox.Outbox
	Companies *tenancy.Companies
	Clients   *Clients
	Config    Config
	Log       *slog.Logger
}

// NewServer returns a server that keeps its files in the bucket of the settings. Close closes the bucket.
func NewServer(ctx context.Context, d Deps) (*Server, error) {
	settings := d.Config.Media
	links, err := newLinks(settings.PublicURL, d.Config.Seal.MasterKey)
	if err != nil {
		return nil, err
	}
	b, err := openBucket(ctx, settings.Bucket)
	if err != nil {
		return nil, err
	}
	s := &Server{
		store: newStore(d.DB), outbox: d.Outbox, companies: d.Companies, clients: d.Clients, bucket: b, links: links, settings: settings,
		metrics: newMetrics(), log: d.Log, parts: newSlots[id.Company](settings.CompanyParts, settings.Parts),
		playbacks: newSlots[id.Company](settings.CompanyPlaybacks, settings.Playbacks),
		covers:    newSlots[id.Company](settings.CompanyPlaybacks, settings.Playbacks), players: newSlots[player](maxPlays, settings.Playbacks), now: time.Now, newID: id.NewUUID,
	}
	s.joins = newJoins(s)
	return s, nil
}

// ready returns an error until the bucket has been written once by this process.
func (s *Server) ready(ctx context.Context) error {
	if s.probed.Load() {
		return nil
	}
	if err := s.bucket.probe(ctx); err != nil {
		return err
	}
	s.probed.Store(true)
	return nil
}

// Close closes the bucket.
func (s *Server) Close() { _ = s.bucket.Close() }

// NewCompanies returns the copy of companies in db, which fetches missing companies from auth.
func NewCompanies(db *pg.DB, auth tenancy.Auth) *tenancy.Companies {
	return tenancy.New(db, auth, tenancy.Timezone(), tenancy.Currency(), tenancy.ClockOffset())
}

// tenant is the company of a request, with its time zone.
type tenant struct {
	tenancy.Company
	zone *time.Location
}

func (s *Server) tenant(ctx context.Context) (tenant, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return tenant{}, err
	}
	zone, err := company.Location()
	return tenant{Company: company, zone: zone}, err
}

// clock returns the time of a company, by which the service decides and which resources show.
func (s *Server) clock(company tenant) time.Time { return pg.Instant(company.Now(s.now())) }

// today returns the current day at a company.
func (s *Server) today(company tenant) time.Time { return dayOf(s.clock(company), company.zone) }

// moment is a time of a company, and its day there.
type moment struct{ now, today time.Time }

// moment returns the current time and day of a company.
func (s *Server) moment(company tenant) moment {
	now := s.clock(company)
	return moment{now: now, today: dayOf(now, company.zone)}
}

// shown returns the message of an item with the address of its cover.
func (s *Server) shown(company tenant, i Item) *mediav1.MediaItem {
	out := itemMessage(i)
	if cover := i.cover(); cover != nil {
		out.Cover.Url = s.links.cover(coverLink{company: company.ID, item: i.ID, file: cover.ID, expires: coverExpiry(s.clock(company))})
	}
	return out
}

// CreateMediaItem implements MediaService.
func (s *Server) CreateMediaItem(ctx context.Context, req *mediav1.CreateMediaItemRequest) (*mediav1.CreateMediaItemResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	i, err := newItem(req)
	if err != nil {
		return nil, err
	}
	i.ID, i.CreatedAt = id.MediaItem(s.newID()), s.clock(company)
	i.UpdatedAt = i.CreatedAt
	resp := &mediav1.CreateMediaItemResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		if known, ok, err := s.store.itemByReference(ctx, tx, company.ID, i.Reference); err != nil || ok {
			resp.Item = s.shown(company, known)
			return err
		}
		if err := touchCollections(ctx, tx, company.ID, i.Collections, i.CreatedAt); err != nil {
			return err
		}
		resp.Item = s.shown(company, i)
		addItem(tx, company.ID, i)
		setCollections(tx, company.ID, i)
		return s.outbox.Append(ctx, tx, itemCreated(company.ID, i))
	})
}

// GetMediaItem implements MediaService.
func (s *Server) GetMediaItem(ctx context.Context, req *mediav1.GetMediaItemRequest) (*mediav1.GetMediaItemResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	item, err := check.ID[id.MediaItem](req.GetId(), "media item")
	if err != nil {
		return nil, err
	}
	i, err := s.store.item(ctx, company.ID, item)
	if err != nil {
		return nil, err
	}
	return &mediav1.GetMediaItemResponse{Item: s.shown(company, i)}, nil
}

// ListMediaItems implements MediaService.
func (s *Server) ListMediaItems(ctx context.Context, req *mediav1.ListMediaItemsRequest) (*mediav1.ListMediaItemsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	p, err := pageOf(req, itemOrders, "i")
	if err != nil {
		return nil, err
	}
	f, err := itemFilterOf(req)
	if err != nil {
		return nil, err
	}
	items, total, err := s.store.items(ctx, company.ID, f, p)
	if err != nil {
		return nil, err
	}
	resp := &mediav1.ListMediaItemsResponse{Total: total}
	items, resp.NextPageToken = page.Cut(p, items, func(i *Item) page.Cursor { return page.At(sortedBy(p, i.CreatedAt, i.UpdatedAt), i.ID.UUID()) })
	for _, i := range items {
		resp.Items = append(resp.Items, s.shown(company, i))
	}
	return resp, nil
}

// UpdateMediaItem implements MediaService.
func (s *Server) UpdateMediaItem(ctx context.Context, req *mediav1.UpdateMediaItemRequest) (*mediav1.UpdateMediaItemResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	item, err := check.ID[id.MediaItem](req.GetId(), "media item")
	if err != nil {
		return nil, err
	}
	resp := &mediav1.UpdateMediaItemResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		i, err := s.updateItem(ctx, tx, company, item, req)
		resp.Item = s.shown(company, i)
		return err
	})
}

func (s *Server) updateItem(ctx context.Context, tx *pg.Tx, company tenant, item id.MediaItem, req *mediav1.UpdateMediaItemRequest) (Item, error) {
	before, err := s.store.lockItem(ctx, tx, company.ID, item)
	if err != nil {
		return before, err
	}
	if err := check.Version(before.Version, req.ExpectedVersion, "media item"); err != nil {
		return before, err
	}
	i, err := changedItem(before, req)
	if err != nil || i.equal(before) {
		return i, err
	}
	i.Version++
	i.UpdatedAt = s.clock(company)
	if err := touchCollections(ctx, tx, company.ID, changedCollections(before.Collections, i.Collections), i.UpdatedAt); err != nil {
		return i, err
	}
	saveItem(tx, company.ID, i)
	setCollections(tx, company.ID, i)
	return i, s.outbox.Append(ctx, tx, itemUpdated(company.ID, i, before))
}

// DeleteMediaItem implements MediaService. // invariant 8
func (s *Server) DeleteMediaItem(ctx context.Context, req *mediav1.DeleteMediaItemRequest) (*mediav1.DeleteMediaItemResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	item, err := check.ID[id.MediaItem](req.GetId(), "media item")
	if err != nil {
		return nil, err
	}
	resp := &mediav1.DeleteMediaItemResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		i, err := s.store.lockItemToDelete(ctx, tx, company.ID, item)
		if err != nil {
			return err
		}
		if err := check.Version(i.Version, req.ExpectedVersion, "media item"); err != nil {
			return err
		}
		entitlements, err := entitlementsOfItem(ctx, tx, company.ID, item)
		if err != nil {
			return err
		}
		if err := touchCollections(ctx, tx, company.ID, i.Collections, s.clock(company)); err != nil {
			return err
		}
		now := s.now()
		deleteItem(tx, company.ID, i, len(entitlements), now, now.Add(s.settings.RemovalDelay))
		return s.outbox.AppendAll(ctx, tx, append(entitlementsDeleted(company.ID, entitlements), itemDeleted(company.ID, i)))
	})
}

// itemOf reads the item that a request names.
func itemOf(text string) (id.MediaItem, error) { return check.ID[id.MediaItem](text, "media item") }

// customerOf reads the customer that a request names.
func customerOf(text string) (id.Customer, error) { return check.ID[id.Customer](text, "customer") }

// errBusy refuses work beyond the limits of a company or of the process.
func errBusy() *fault.Error {
	return fault.New(fault.RateLimited, fault.ReasonRateLimitExceeded, "too many requests for files are in progress").After(time.Second)
}
