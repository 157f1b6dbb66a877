package main

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startNATS starts the embedded NATS server. The services connect to it within the process. It listens on a
// port of this machine only if NATS_PORT names one.
func startNATS(s *Settings) (*server.Server, error) {
	srv, err := server.NewServer(&server.Options{
		ServerName: "standalone",
		DontListen: s.NATSPort == 0,
		Host:       "127.0.0.1",
		Port:       s.NATSPort,
		JetStream:  true,
		StoreDir:   filepath.Join(s.DataDir, "nats"),
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
