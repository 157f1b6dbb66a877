package subscription

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// fakePasses is a fake of the pass service that keeps to the protocol of subscription_pass.proto: states by
// version, grants by number and without gaps.
type fakePasses struct {
	passv1.UnimplementedPassServiceServer
	passv1.UnimplementedSubscriptionPassServiceServer

	mu      sync.Mutex
	types   map[string]*passv1.PlanPassType
	passes  map[string]fakePass
	deleted map[string]bool // customers
	calls   int
	// before is called before each call, and after before each response. Their errors are returned.
	before, after func(ctx context.Context, subscription string) error
}

// fakePass is a pass of a subscription. Its maps are never changed, so that a copy is a snapshot.
type fakePass struct {
	customer, typ string
	version       int64
	state         string
	status        passv1.CustomerPassStatus
	start, last   string
	periodLast    string
	unlimited     bool
	from, again   time.Time
	balance       int32
	lastPeriod    int32
	grants        map[int32]*passv1.PassGrant
	purchase      *passv1.PassPurchase
	quiet         bool
	applied       int // states
}

func newFakePasses() *fakePasses {
	return &fakePasses{types: map[string]*passv1.PlanPassType{}, passes: map[string]fakePass{}, deleted: map[string]bool{}}
}

// snapshot returns the passes, which restore puts back.
func (f *fakePasses) snapshot() map[string]fakePass {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.passes)
}

func (f *fakePasses) restore(passes map[string]fakePass) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passes = map[string]fakePass{}
	maps.Copy(f.passes, passes)
}

// hook sets what happens before each call and before each response.
func (f *fakePasses) hook(before, after func(ctx context.Context, subscription string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

func (f *fakePasses) hooks() (before, after func(ctx context.Context, subscription string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	none := func(context.Context, string) error { return nil }
	f.calls++
	if before = f.before; before == nil {
		before = none
	}
	if after = f.after; after == nil {
		after = none
	}
	return before, after
}

// pass returns the pass of a subscription.
func (f *fakePasses) pass(subscription string) fakePass {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, _ := id.Parse[id.Subscription](subscription)
	for key, p := range f.passes {
		if strings.HasSuffix(key, s.UUID().String()) {
			return p
		}
	}
	return fakePass{}
}

// redeem takes credits of a pass.
func (f *fakePasses) redeem(subscription string, credits int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, _ := id.Parse[id.Subscription](subscription)
	for key, p := range f.passes {
		if strings.HasSuffix(key, s.UUID().String()) {
			p.balance -= min(credits, p.balance)
			f.passes[key] = p
		}
	}
}

// SyncPlanPassType implements SubscriptionPassService.
func (f *fakePasses) SyncPlanPassType(ctx context.Context, req *passv1.SyncPlanPassTypeRequest) (*passv1.SyncPlanPassTypeResponse, error) {
	before, after := f.hooks()
	if err := before(ctx, req.GetPassType().GetPlanId()); err != nil {
		return nil, err
	}
	if err := f.keepType(ctx, req.GetPassType()); err != nil {
		return nil, err
	}
	return &passv1.SyncPlanPassTypeResponse{}, after(ctx, req.GetPassType().GetPlanId())
}

func (f *fakePasses) keepType(ctx context.Context, t *passv1.PlanPassType) error {
	plan, err := id.Parse[id.Plan](t.GetPlanId())
	if err != nil || t.GetVersion() < 1 || t.GetTitle() == "" || t.GetIntervalCount() < 1 || t.GetIntervalUnit() == 0 ||
		t.GetUnlimitedUses() == (t.GetCredits() != 0) || t.GetCurrency() == "" {
		return fault.InvalidFields(fault.Field{Field: "pass_type", Rule: "format", Message: "is not a pass type"})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := rpc.Company(ctx).String() + plan.UUID().String()
	if kept := f.types[key]; kept == nil || kept.GetVersion() < t.GetVersion() {
		f.types[key] = t
	}
	return nil
}

// SyncSubscriptionPass implements SubscriptionPassService.
func (f *fakePasses) SyncSubscriptionPass(ctx context.Context, req *passv1.SyncSubscriptionPassRequest) (*passv1.SyncSubscriptionPassResponse, error) {
	before, after := f.hooks()
	if err := before(ctx, req.GetSubscriptionId()); err != nil {
		return nil, err
	}
	resp, err := f.sync(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp, after(ctx, req.GetSubscriptionId())
}

func (f *fakePasses) sync(ctx context.Context, req *passv1.SyncSubscriptionPassRequest) (*passv1.SyncSubscriptionPassResponse, error) {
	s, err := id.Parse[id.Subscription](req.GetSubscriptionId())
	if err != nil || req.GetVersion() < 1 || len(req.GetStateId()) < 20 || req.GetStartDate() == "" {
		return nil, fault.InvalidFields(fault.Field{Field: "subscription_id", Rule: "format", Message: "is not a state"})
	}
	if req.GetPassType() != nil {
		if err := f.keepType(ctx, req.GetPassType()); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := rpc.Company(ctx).String() + s.UUID().String()
	p, found := f.passes[key]
	switch {
	case !found && f.deleted[req.GetCustomerId()]:
		return nil, fault.Refuse("CUSTOMER_DELETED", "the customer is deleted")
	case !found && req.GetPassType() == nil:
		return nil, fault.InvalidFields(fault.Field{Field: "pass_type", Rule: "required", Message: "is required"})
	case !found && (len(req.GetGrants()) == 0 || req.GetGrants()[0].GetPeriod() != 1),
		len(req.GetGrants()) > 0 && req.GetGrants()[0].GetPeriod() > p.lastPeriod+1:
		return nil, fault.Refuse("GRANT_MISSING", "a grant is missing").With("last_period", strconv.Itoa(int(p.lastPeriod)))
	case !found:
		p = fakePass{customer: req.GetCustomerId(), start: req.GetStartDate(), purchase: req.GetPurchase(), quiet: req.GetQuiet(), grants: map[int32]*passv1.PassGrant{}}
	}
	resp := &passv1.SyncSubscriptionPassResponse{}
	p.grants = maps.Clone(p.grants)
	for i, g := range req.GetGrants() {
		if i > 0 && g.GetPeriod() != req.GetGrants()[i-1].GetPeriod()+1 || g.GetUnlimitedUses() && g.GetCredits() != 0 {
			return nil, fault.InvalidFields(fault.Field{Field: "grants", Rule: "order", Message: "must be ascending without gaps"})
		}
		resp.Grants = append(resp.Grants, p.grant(s, g))
	}
	p.apply(req)
	f.passes[key] = p
	resp.Version, resp.StateId, resp.LastPeriod = p.version, p.state, p.lastPeriod
	resp.CustomerPass = &passv1.CustomerPass{Id: id.CustomerPass(s.UUID()).String(), RemainingUses: p.balance}
	return resp, nil
}

// grant applies a grant once, and returns what it did.
func (p *fakePass) grant(s id.Subscription, g *passv1.PeriodGrant) *passv1.PassGrant {
	if made := p.grants[g.GetPeriod()]; made != nil {
		return made
	}
	keep := g.GetMaxRollover()
	if g.GetUnlimitedUses() || p.unlimited {
		keep = 0
	}
	carried := min(p.balance, keep)
	made := &passv1.PassGrant{
		CustomerPassId: id.CustomerPass(s.UUID()).String(), Period: g.GetPeriod(), Granted: g.GetCredits(),
		CarriedOver: carried, Expired: p.balance - carried, FirstDay: g.GetFirstDay(),
	}
	p.balance, p.lastPeriod, p.unlimited = carried+g.GetCredits(), g.GetPeriod(), g.GetUnlimitedUses()
	p.grants[g.GetPeriod()] = made
	return made
}

// apply applies a newer state.
func (p *fakePass) apply(req *passv1.SyncSubscriptionPassRequest) {
	if req.GetVersion() > p.version {
		p.version, p.state, p.status, p.last, p.periodLast = req.GetVersion(), req.GetStateId(), req.GetStatus(), req.GetLastDay(), req.GetPeriodLastDay()
		p.from, p.again = time.Time{}, time.Time{}
		if req.GetUnusableFrom() != nil {
			p.from = req.GetUnusableFrom().AsTime()
		}
		if req.GetUsableAgainFrom() != nil {
			p.again = req.GetUsableAgainFrom().AsTime()
		}
		p.typ = cmp.Or(req.GetPassType().GetPlanId(), p.typ)
		p.applied++
	}
	if p.status == passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED {
		p.balance = 0
	}
}

// GetCustomerPass implements PassService.
func (f *fakePasses) GetCustomerPass(ctx context.Context, req *passv1.GetCustomerPassRequest) (*passv1.GetCustomerPassResponse, error) {
	before, after := f.hooks()
	if err := before(ctx, req.GetId()); err != nil {
		return nil, err
	}
	cp, err := id.Parse[id.CustomerPass](req.GetId())
	if err != nil {
		return nil, fault.Missing("customer pass")
	}
	f.mu.Lock()
	p, found := f.passes[rpc.Company(ctx).String()+cp.UUID().String()]
	f.mu.Unlock()
	if !found {
		return nil, fault.Missing("customer pass")
	}
	return &passv1.GetCustomerPassResponse{CustomerPass: &passv1.CustomerPass{Id: req.GetId(), RemainingUses: p.balance}}, after(ctx, req.GetId())
}

// numbers returns the numbers of the grants of a pass, ascending.
func (p fakePass) numbers() []int32 { return slices.Sorted(maps.Keys(p.grants)) }
