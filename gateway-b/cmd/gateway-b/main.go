// Command gateway-b serves Interface B, the REST API under /api/v1.
package main

import (
	gatewayb "reservation.dev/gateway-b"
	"reservation.dev/platform/service"
)

func main() { service.Main(gatewayb.Part()) }
