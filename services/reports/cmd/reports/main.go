// Command reports serves the reports service.
package main

import (
	"reservation.dev/platform/service"
	"reservation.dev/services/reports"
)

func main() { service.Main(reports.Part()) }
