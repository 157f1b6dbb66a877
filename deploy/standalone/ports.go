package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// The ports, as offsets from PORT_BASE.
const (
	portA            = 0 // Interface A
	portB            = 1 // Interface B
	portDashboard    = 2
	portAuth         = 3 // gRPC, like the next four
	portCustomer     = 4
	portBooking      = 5
	portPass         = 6
	portWebhook      = 7
	portPostgres     = 8
	portAdmin        = 9  // /livez, /readyz, /metrics
	portSubscription = 10 // gRPC, like the next one
	portMedia        = 11
	portMediaFiles   = 12 // uploads and playback
	portReports      = 13 // gRPC
	lastPort         = portReports
)

// addr returns the address of a port. The operators' port is open on this machine only, because it
// is not for others.
func (s *Settings) addr(offset int) string {
	host := s.Host
	if offset == portAdmin {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(s.PortBase+offset))
}

// checkPorts reports the ports that cannot be opened, before anything is started. It does not check
// PostgreSQL's port, which an earlier server that is shutting down can still use: pgserver waits
// for it.
func (s *Settings) checkPorts() error {
	var faults []error
	for _, port := range []struct {
		offset int
		use    string
	}{
		{portA, "Interface A"}, {portB, "Interface B"}, {portDashboard, "the dashboard"}, {portAuth, "gRPC of auth"}, {portCustomer, "gRPC of customer"}, {portBooking, "gRPC of booking"},
		{portPass, "gRPC of pass"}, {portWebhook, "gRPC of webhook"}, {portAdmin, "/metrics"},
		{portSubscription, "gRPC of subscription"}, {portMedia, "gRPC of media"}, {portMediaFiles, "files of media"}, {portReports, "gRPC of reports"},
	} {
		l, err := net.Listen("tcp", s.addr(port.offset))
		if err == nil {
			err = l.Close()
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			err = errors.New("used by another program")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("port %d (%s): %w", s.PortBase+port.offset, port.use, err))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return errors.Join(append(faults, fmt.Errorf(
		"set another PORT_BASE (now %d) to move all ports, or another LISTEN_HOST (now %s) to listen on another address", s.PortBase, s.Host))...)
}
