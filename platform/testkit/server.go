package testkit

import (
	"context"
	"errors"
	"os"
)

// adminURL is a superuser's URL of the server that tests use.
func adminURL(context.Context) (string, error) {
	if raw := os.Getenv("TEST_DATABASE_URL"); raw != "" {
		return raw, nil
	}
	return "", errors.New("TEST_DATABASE_URL is not set")
}
