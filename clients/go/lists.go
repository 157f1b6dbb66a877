package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"
)

// edit changes a request for a page.
type edit = func(context.Context, *http.Request) error

// errBody means that a response with status 2xx does not have the body that the operation describes.
var errBody = errors.New("the response does not have a JSON body")

// body returns the body of a response with status 200.
func body[P any](response interface{ GetJSON200() *P }, err error) (*P, error) {
	if err != nil {
		return nil, err
	}
	if p := response.GetJSON200(); p != nil {
		return p, nil
	}
	return nil, errBody
}

// byCursor and byNumber are the ways in which the two interfaces name a page and its size.
func byCursor(cursor string) edit { return at("cursor", "perPage", cursor) }
func byNumber(number string) edit { return at("page", "pageSize", number) }

// at asks for one page: the one that the caller asks for if place is empty.
func at(parameter, size, place string) edit {
	return func(_ context.Context, req *http.Request) error {
		query := req.URL.Query()
		if place != "" {
			query.Del("page") // cannot be combined with a cursor
			query.Set(parameter, place)
		}
		if !query.Has(size) {
			query.Set(size, "100")
		}
		req.URL.RawQuery = query.Encode()
		req.Header.Del("If-None-Match")
		return nil
	}
}

// items returns the items of all pages, and an error at the end if a page cannot be read. read reads
// the page at a place; cut returns its items and the place of the next page, or nil.
func items[T, P any](read func(place string) (*P, error), cut func(*P) ([]T, *string)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		place := ""
		for {
			page, err := read(place)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			list, next := cut(page)
			for _, item := range list {
				if !yield(item, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			place = *next
		}
	}
}

// following returns the number of the page that follows a page of Interface A, or nil.
func following(page, size, total int) *string {
	if (page+1)*size >= total {
		return nil
	}
	next := strconv.Itoa(page + 1)
	return &next
}
