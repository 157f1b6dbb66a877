package media

import (
	"context"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// TestData implements TestDataService: it deletes the rows of a company in test mode, and then has its
// files removed.
type TestData struct {
	authv1.UnimplementedTestDataServiceServer
	rows   *tenancy.TestData
	server *Server
}

// NewTestData returns a server that deletes test data by rows, and in the bucket of server. rows keeps
// removed_objects.
func NewTestData(rows *tenancy.TestData, server *Server) *TestData {
	return &TestData{rows: rows, server: server}
}

// testFilesKept is how long the files of deleted test data stay. A part that arrives during the deletion
// has a row by then, and is not removed.
const testFilesKept = time.Hour

// DeleteTestData implements TestDataService.
func (d *TestData) DeleteTestData(ctx context.Context, req *authv1.DeleteTestDataRequest) (*authv1.DeleteTestDataResponse, error) {
	resp, err := d.rows.DeleteTestData(ctx, req)
	if err != nil {
		return nil, err
	}
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	s := d.server
	err = s.bucket.list(ctx, objectPrefix(company), func(page []stored) error {
		var c candidates
		for _, o := range page {
			if owner, object, ok := parseKey(o.key); ok && owner == company {
				c.add(candidate{o.key, company, object})
			}
		}
		return s.removeLater(ctx, c, s.now().Add(testFilesKept))
	})
	if err != nil {
		return nil, fault.Away(err)
	}
	return resp, nil
}
