// Command admin serves the dashboard.
package main

import (
	"reservation.dev/platform/service"
	"reservation.dev/services/admin"
)

func main() { service.Main(admin.Part()) }
