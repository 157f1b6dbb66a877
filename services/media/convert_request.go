package media

import (
	"cmp"
	"fmt"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// newItem checks a request and returns the item that it describes, without its identifier and times.
func newItem(req *mediav1.CreateMediaItemRequest) (Item, error) {
	i := Item{
		Title: req.GetTitle(), Description: req.GetDescription(), Kind: enum.Name(req.GetKind()), Duration: req.GetDurationSeconds(),
		Status: statusDraft, Version: 1,
	}
	var f check.Fields
	i.check(&f)
	if req.GetKind() == mediav1.MediaKind_MEDIA_KIND_UNSPECIFIED {
		f.Add("kind", "required", "is required")
	} else {
		f.OneOf("kind", i.Kind, enum.Names[mediav1.MediaKind]())
	}
	i.Tags = tagsOf(&f, "tags", req.GetTags())
	i.Reference = referenceOf(&f, req.GetReference())
	if err := f.Err(); err != nil {
		return i, err
	}
	var err error
	i.Collections, err = collectionsOf(req.GetCollectionIds())
	return i, err
}

// collectionsOf reads the identifiers of collections.
func collectionsOf(texts []string) ([]id.Collection, error) {
	if len(texts) > maxCollections {
		return nil, fault.InvalidFields(fault.Field{Field: "collection_ids", Rule: "max_items", Message: fmt.Sprintf("must have at most %d items", maxCollections)})
	}
	collections := make([]id.Collection, len(texts))
	for n, text := range texts {
		var err error
		if collections[n], err = check.ID[id.Collection](text, "collection"); err != nil {
			return nil, err
		}
	}
	return collectionSet(collections), nil
}

// changedItem returns an item with the changes of a request, and checks the result.
func changedItem(i Item, req *mediav1.UpdateMediaItemRequest) (Item, error) {
	set(&i.Title, req.Title)
	set(&i.Description, req.Description)
	set(&i.Duration, req.DurationSeconds)
	var f check.Fields
	i.check(&f)
	if req.GetTags() != nil {
		i.Tags = tagsOf(&f, "tags", req.GetTags().GetValues())
	}
	if req.GetStatus() != mediav1.MediaStatus_MEDIA_STATUS_UNSPECIFIED {
		i.Status = enum.Name(req.GetStatus())
		f.OneOf("status", i.Status, enum.Names[mediav1.MediaStatus]())
	}
	if err := f.Err(); err != nil {
		return i, err
	}
	if req.GetCollectionIds() != nil {
		var err error
		if i.Collections, err = collectionsOf(req.GetCollectionIds().GetValues()); err != nil {
			return i, err
		}
	}
	return i, i.requireFile()
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// entitlementOf checks a request and returns the entitlement that it describes, without its identifier.
func entitlementOf(req *mediav1.CreateEntitlementRequest, today time.Time) (e Entitlement, err error) {
	var f check.Fields
	exactlyOne(&f, "collection_id", req.GetCollectionId(), "item_id", req.GetItemId())
	exactlyOne(&f, "pass_type_id", req.GetPassTypeId(), "plan_id", req.GetPlanId(), "event_id", req.GetEventId(), "customer_id", req.GetCustomerId())
	if text := req.GetLastDay(); text != "" {
		day, err := time.Parse(time.DateOnly, text)
		switch {
		case err != nil || day.Year() < 1900 || day.Year() > 9999:
			f.Add("last_day", "format", "must be a date such as 2026-03-29, in the years 1900 to 9999")
		case day.Before(today):
			f.Add("last_day", "min", "must be today or later")
		}
		e.LastDay = &day
	}
	if err := f.Err(); err != nil {
		return e, err
	}
	return e, readEntitlement(&e, req)
}

// readEntitlement reads the identifiers of an entitlement. Missing ones stay zero.
func readEntitlement(e *Entitlement, req *mediav1.CreateEntitlementRequest) error {
	return cmp.Or(
		optional(&e.Collection, req.GetCollectionId(), "collection"), optional(&e.Item, req.GetItemId(), "media item"),
		optional(&e.PassType, req.GetPassTypeId(), "pass type"), optional(&e.Plan, req.GetPlanId(), "plan"),
		optional(&e.Event, req.GetEventId(), "event"), optional(&e.Customer, req.GetCustomerId(), "customer"))
}

// optional reads an identifier unless it is missing.
func optional[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](to *T, text, resource string) (err error) {
	if text != "" {
		*to, err = check.ID[T, P](text, resource)
	}
	return err
}

// exactlyOne checks that one of several fields is set; pairs are names and values.
func exactlyOne(f *check.Fields, pairs ...string) {
	given := 0
	for n := 1; n < len(pairs); n += 2 {
		if pairs[n] == "" {
			continue
		}
		if given++; given > 1 {
			f.Add(pairs[n-1], "exclusive", "cannot be combined with another field of this kind")
		}
	}
	if given == 0 {
		f.Add(pairs[0], "required", "or another field of this kind is required")
	}
}

// uploadOf checks a request and returns the upload that it describes, of an item of a kind.
func uploadOf(req *mediav1.CreateUploadRequest, kind string, most int64) (Upload, error) {
	u := Upload{
		Purpose: cmp.Or(enum.Name(req.GetPurpose()), purposeFile), Status: uploadOpen, FileName: req.GetFileName(), Type: req.GetContentType(),
		Size: req.GetSize(), SHA256: req.GetSha256(), PartSize: partSize, Kind: kind,
	}
	var f check.Fields
	f.OneOf("purpose", u.Purpose, enum.Names[mediav1.UploadPurpose]())
	return newUpload(&f, u, most)
}

// orderOf reads the order of a list whose rows are in the table alias.
func orderOf(order mediav1.MediaOrder, code byte, alias string) (page.Order, error) {
	o := page.Order{Code: code + byte(order), ID: alias + ".id"}
	switch order {
	case mediav1.MediaOrder_MEDIA_ORDER_UNSPECIFIED:
	case mediav1.MediaOrder_MEDIA_ORDER_CREATED, mediav1.MediaOrder_MEDIA_ORDER_CREATED_DESC:
		o.Column = alias + ".created_at"
	case mediav1.MediaOrder_MEDIA_ORDER_UPDATED, mediav1.MediaOrder_MEDIA_ORDER_UPDATED_DESC:
		o.Column = alias + ".updated_at"
	default:
		return o, fault.InvalidParameter("order", "enum", "is not an order")
	}
	o.Desc = order == mediav1.MediaOrder_MEDIA_ORDER_CREATED_DESC || order == mediav1.MediaOrder_MEDIA_ORDER_UPDATED_DESC
	return o, nil
}

// The codes in page tokens for the lists, to which the order is added.
const (
	itemOrders        = 0
	collectionOrders  = 16
	entitlementOrders = 32
	customerOrder     = 48
)

// orderedList is a list request with an order.
type orderedList interface {
	GetPageSize() int32
	GetPageToken() string
	GetOffset() int64
	GetOrder() mediav1.MediaOrder
}

// pageOf reads the page of a list request.
func pageOf(req orderedList, code byte, alias string) (page.Page, error) {
	o, err := orderOf(req.GetOrder(), code, alias)
	if err != nil {
		return page.Page{}, err
	}
	return page.Read(page.Of(req), o, page.Sizes{Default: 50, Max: 200})
}

// sortedBy returns the time by which a row is sorted.
func sortedBy(p page.Page, created, updated time.Time) time.Time {
	if len(p.Order.Column) > 2 && p.Order.Column[2:] == "updated_at" {
		return updated
	}
	return created
}

func itemFilterOf(req *mediav1.ListMediaItemsRequest) (f itemFilter, err error) {
	f.collection, f.tag = id.Filter[id.Collection](req.GetCollectionId()), req.GetTag()
	if f.status, err = filterOf("status", req.GetStatus()); err != nil {
		return f, err
	}
	if f.kind, err = filterOf("kind", req.GetKind()); err != nil {
		return f, err
	}
	f.updatedSince, err = check.Bound("updated_since", req.GetUpdatedSince())
	return f, err
}

// filterOf returns the name of a value to filter by; "" if there is no filter.
func filterOf[E enum.Enum](parameter string, v E) (string, error) {
	name := enum.Name(v)
	if name == "" && v != 0 {
		return "", fault.InvalidParameter(parameter, "enum", fault.OneOf(enum.Names[E]()))
	}
	return name, nil
}
