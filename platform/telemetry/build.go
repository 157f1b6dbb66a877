package telemetry

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// CollectBuild registers build_info, which is always 1. Its labels have the running
// versions of the program and of Go, so that other metrics can be compared with rollouts.
func CollectBuild(r prometheus.Registerer, version string) error {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "build_info", Help: "Always 1; the labels have the version of the program and of Go.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	info.Set(1)
	return r.Register(info)
}
