package admin

import (
	"slices"

	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// collections returns the company's newest 200 collections.
func (r *request) collections() ([]*mediav1.Collection, error) {
	res, err := r.services.media.ListCollections(r.ctx, &mediav1.ListCollectionsRequest{PageSize: 200, Order: mediav1.MediaOrder_MEDIA_ORDER_CREATED_DESC})
	return res.GetCollections(), err
}

// collectionTitles returns the titles of collections, by id.
func collectionTitles(list []*mediav1.Collection) map[string]string {
	titles := map[string]string{}
	for _, c := range list {
		titles[c.GetId()] = c.GetTitle()
	}
	return titles
}

// optionsOfCollections returns collections as choices. Chosen ones that are not in the list are added, so
// that saving the form keeps them.
func optionsOfCollections(list []*mediav1.Collection, chosen []string) []option {
	options := views(list, func(c *mediav1.Collection) option { return option{c.GetId(), c.GetTitle()} })
	for _, id := range chosen {
		if !slices.ContainsFunc(options, func(o option) bool { return o.Value == id }) {
			options = append(options, option{id, id})
		}
	}
	return options
}

// collectionsPage is the list of collections.
type collectionsPage struct {
	Collections []*mediav1.Collection
	Total       int64
	Next        string
}

func (collectionsPage) head() (*message, string) { return msg("library.collections.title"), "library" }

func (r *request) listCollections() error {
	res, err := r.services.media.ListCollections(r.ctx, &mediav1.ListCollectionsRequest{
		PageSize: 50, PageToken: r.query("page"), Order: mediav1.MediaOrder_MEDIA_ORDER_CREATED_DESC,
	})
	if err != nil {
		return err
	}
	return r.render("collections", collectionsPage{res.GetCollections(), res.GetTotal(), r.with("page", res.GetNextPageToken())})
}

// collectionPage is a collection with its items and who can play them, or the form of a new one.
type collectionPage struct {
	Collection *mediav1.Collection // nil for a new one
	Form       *form
	Items      []mediaView
	Total      int64
	Access     []accessView
	More       string
	// Plans include the collection.
	Plans []planView
}

func (p collectionPage) head() (*message, string) {
	if p.Collection == nil {
		return msg("library.collection.add"), "library"
	}
	return literal(p.Collection.GetTitle()), "library"
}

// Longer reports whether the collection has more items than the page shows.
func (p collectionPage) Longer() bool { return p.Total > int64(len(p.Items)) }

func (r *request) newCollection() error {
	return r.render("collection", collectionPage{Form: newForm()})
}

func (r *request) createCollection() error {
	f := r.sent(nil)
	req := &mediav1.CreateCollectionRequest{Title: f.required("title", msg("desk.field.title")), Description: f.text("description")}
	res, err := submit(r, f, r.services.media.CreateCollection, req)
	if err != nil {
		return r.again(err, "collection", collectionPage{Form: f})
	}
	r.target(res.GetCollection().GetId())
	r.detail("title", "", req.GetTitle())
	return r.back("/collections/"+res.GetCollection().GetId(), r.text("library.collection.added"))
}

// findCollection returns a collection with its newest 50 items, and who can play them.
func (r *request) findCollection() (collectionPage, error) {
	res, err := r.services.media.GetCollection(r.ctx, &mediav1.GetCollectionRequest{Id: r.path("id")})
	if err != nil {
		return collectionPage{}, err
	}
	c := res.GetCollection()
	page := collectionPage{Collection: c, Form: newForm("title", c.GetTitle(), "description", c.GetDescription())}
	page.Form.setVersion(c.GetVersion())
	items, err := r.services.media.ListMediaItems(r.ctx, &mediav1.ListMediaItemsRequest{
		CollectionId: c.GetId(), PageSize: 50, Order: mediav1.MediaOrder_MEDIA_ORDER_CREATED_DESC,
	})
	if err != nil {
		return page, err
	}
	page.Items, page.Total = views(items.GetItems(), func(i *mediav1.MediaItem) mediaView { return mediaView{MediaItem: i} }), items.GetTotal()
	if page.Access, page.More, err = r.access(playable{ID: c.GetId(), Title: c.GetTitle(), Collection: true}); err != nil {
		return page, err
	}
	plans, err := r.plansOf(subscriptionv1.PlanStatus_PLAN_STATUS_UNSPECIFIED)
	page.Plans = slices.DeleteFunc(plans, func(p planView) bool { return !slices.Contains(p.GetMediaCollectionIds(), c.GetId()) })
	return page, err
}

func (r *request) updateCollection() error {
	page, err := r.findCollection()
	if err != nil {
		return err
	}
	before := page.Collection
	f := r.sent(nil)
	page.Form = f
	title, description := f.required("title", msg("desk.field.title")), f.text("description")
	_, err = submit(r, f, r.services.media.UpdateCollection, &mediav1.UpdateCollectionRequest{
		Id: before.GetId(), Title: &title, Description: &description, ExpectedVersion: f.expectedVersion(before.GetVersion()),
	})
	if err != nil {
		return r.again(err, "collection", page)
	}
	r.detail("title", before.GetTitle(), title)
	return r.back("/collections/"+before.GetId(), r.text("shared.done.saved"))
}

func (r *request) confirmCollection() error {
	res, err := r.services.media.GetCollection(r.ctx, &mediav1.GetCollectionRequest{Id: r.path("id")})
	if err != nil {
		return err
	}
	return r.confirm(confirmPage{
		Title: r.text("library.collection.delete_title"), Button: r.text("library.collection.delete_button"), Danger: true,
		Effects: []string{r.text("library.collection.delete_items"), r.text("library.collection.delete_access"), r.text("library.collection.delete_final")},
	}, "library", res.GetCollection().GetTitle(), "/collections/"+res.GetCollection().GetId())
}

func (r *request) deleteCollection() error {
	path := "/collections/" + r.path("id")
	res, err := r.services.media.GetCollection(r.ctx, &mediav1.GetCollectionRequest{Id: r.path("id")})
	if err != nil {
		return err
	}
	if _, err := perform(r, r.services.media.DeleteCollection, &mediav1.DeleteCollectionRequest{Id: r.path("id")}); err != nil {
		return r.refused(path, err)
	}
	r.detail("title", "", res.GetCollection().GetTitle())
	return r.back("/collections", r.text("library.collection.deleted"))
}
