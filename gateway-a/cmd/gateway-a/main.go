// Command gateway-a serves Interface A, the machine-to-machine REST API.
package main

import (
	gatewaya "reservation.dev/gateway-a"
	"reservation.dev/platform/service"
)

func main() { service.Main(gatewaya.Part()) }
