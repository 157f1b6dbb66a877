package main

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startNATS starts the embedded NATS server. It listens on no port: the services connect to it
// within the process.
func startNATS(dataDir string) (*server.Server, error) {
	srv, err := server.NewServer(&server.Options{
		ServerName: "standalone",
		DontListen: true,
		JetStream:  true,
		StoreDir:   filepath.Join(dataDir, "nats"),
		// Services delete events from the outbox once NATS has them. This bounds how many
		// events the crash of the machine can lose.
		SyncInterval: time.Second,
		NoSigs:       true,
		NoLog:        true,
	})
	if err != nil {
		return nil, err
	}
	srv.Start()
	if !srv.ReadyForConnections(10 * time.Second) {
		srv.Shutdown()
		return nil, errors.New("the embedded NATS server did not start")
	}
	return srv, nil
}
