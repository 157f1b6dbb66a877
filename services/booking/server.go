package booking

import (
	"context"
	"log/slog"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/services/booking/commitqueue"
	"reservation.dev/services/booking/store"
)

// Server implements the gRPC services of the booking service.
type Server struct {
	bookingv1.UnimplementedBookingServiceServer
	bookingv1.UnimplementedEventServiceServer
	bookingv1.UnimplementedDiscountServiceServer
	bookingv1.UnimplementedWaitlistServiceServer
	bookingv1.UnimplementedVerificationServiceServer
	bookingv1.UnimplementedStaffServiceServer
	bookingv1.UnimplementedRoomServiceServer
	bookingv1.UnimplementedAppointmentTypeServiceServer
	bookingv1.UnimplementedAppointmentServiceServer
	bookingv1.UnimplementedCalendarServiceServer
	bookingv1.UnimplementedBookingChangeServiceServer
	bookingv1.UnimplementedBookingSnapshotServiceServer
	customerv1.UnimplementedCustomerDeletionServiceServer

	store     *store.Store
	outbox    *outbox.Outbox
	customers Customers
	companies *tenancy.Companies
	passes    Passes
	// purchases, appointments and redemptions batch the steps of purchases, by company.
	purchases    *commitqueue.Queue[id.Company, id.EventDate, *purchase]
	appointments *commitqueue.Queue[id.Company, id.UUID, *purchase]
	redemptions  *commitqueue.Queue[id.Company, id.Transaction, *Redemption]
	metrics      *metrics
	log          *slog.Logger
	// importing holds a token for each batch that is being stored, so that imports leave database
	// connections to other requests.
	importing chan struct{}
	now       func() time.Time
	newID     func() id.UUID
}

// importsAtOnce is the number of import batches that one process stores at a time.
const importsAtOnce = 2

// NewCompanies returns the copy of the companies in db, with the fields that the booking service
// needs.
func NewCompanies(db *pg.DB, auth tenancy.Auth) *tenancy.Companies {
	return tenancy.New(db, auth, tenancy.Timezone(), tenancy.Currency(), tenancy.ClockOffset(), tenancy.Name())
}

// NewServer returns a server that uses db and appends its events to box.
func NewServer(db *pg.DB, box *outbox.Outbox, customers Customers, companies *tenancy.Companies, passes Passes) *Server {
	s := &Server{
		store: store.New(db), outbox: box, customers: customers, companies: companies, passes: passes,
		importing: make(chan struct{}, importsAtOnce), metrics: newMetrics(), now: time.Now, newID: id.NewUUID,
		log: slog.Default(),
	}
	s.purchases = commitqueue.New[id.EventDate](s.commitPurchases)
	s.appointments = commitqueue.New[id.UUID](s.commitAppointments)
	s.redemptions = commitqueue.New[id.Transaction](s.redeemTogether)
	return s
}

// clock returns the time of a company, by which the service decides and which resources show.
func (s *Server) clock(company tenancy.Company) time.Time { return company.Now(s.now()) }

// newIDs returns a function for new identifiers with the time of a company. Bookings and holds show it as
// the time of their creation.
func (s *Server) newIDs(company tenancy.Company) func() id.UUID {
	return func() id.UUID { return s.newID().After(company.Ahead()) }
}

// catalogOnly reports whether the caller sees only published events: its token has catalog:read, and not
// events:read.
func catalogOnly(ctx context.Context) bool {
	claims := rpc.ClaimsFrom(ctx)
	return claims != nil && !claims.Has(scopes.EventsRead)
}

// pageSizes returns the page sizes of lists that do not have their own.
func pageSizes() page.Sizes { return page.Sizes{Default: 50, Max: 200} }
