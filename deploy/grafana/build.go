package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// board is one dashboard.
type board struct {
	name, title, about string
	panels             []panel
}

// panel is a graph over time, or one figure.
type panel struct {
	title, about string
	unit         string // of Grafana: short, s, ops, percentunit, bytes, ...
	queries      []query
	figure       bool    // the newest value instead of a graph
	wide         bool    // the full width
	stacked      bool    // areas upon each other
	lines        []limit // where it becomes bad
}

// query is one expression; legend may mention labels as {{label}}.
type query struct{ legend, expr string }

// limit is a line across a graph, or where a figure changes its colour.
type limit struct {
	at    float64
	color string
}

const (
	// sel selects a fleet. The label fleet is set by whoever scrapes; a Prometheus
	// that has only one fleet may leave it out.
	sel = `{fleet=~"$fleet"}`
	// over is the range of rates.
	over = `[$__rate_interval]`
)

// and selects a fleet and something more, such as outcome="dead".
func and(more string) string { return `{fleet=~"$fleet",` + more + `}` }

// quantiles are the usual three of a histogram, by the labels that by names.
func quantiles(metric string) []query {
	var all []query
	for _, q := range []struct{ name, value string }{{"p50", "0.5"}, {"p95", "0.95"}, {"p99", "0.99"}} {
		all = append(all, query{q.name, `histogram_quantile(` + q.value + `, sum by (le) (rate(` + metric + `_bucket` + sel + over + `)))`})
	}
	return all
}

const columns = 24 // of Grafana's grid

func (b board) build() (dashboard.Dashboard, error) {
	builder := dashboard.NewDashboardBuilder(b.title).
		Uid("taskfleet-"+b.name).
		Description(b.about).
		Tags([]string{"taskfleet"}).
		Timezone("browser").
		Refresh("30s").
		Time("now-1h", "now").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus")).
		WithVariable(dashboard.NewQueryVariableBuilder("fleet").Label("Fleet").
			Datasource(source()).
			Query(dashboard.StringOrMap{String: cog.ToPtr("label_values(taskfleet_ydb_statements_total, fleet)")}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
			IncludeAll(true).AllValue(".*").
			Current(dashboard.VariableOption{
				Text:  dashboard.StringOrArrayOfString{String: cog.ToPtr("All")},
				Value: dashboard.StringOrArrayOfString{String: cog.ToPtr("$__all")},
			}))
	for _, p := range b.panels {
		if p.figure {
			builder.WithPanel(p.stat())
		} else {
			builder.WithPanel(p.graph())
		}
	}
	return builder.Build()
}

func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("$datasource")}
}

// target is a query in Grafana's form, the nth of its panel.
func (q query) target(n int) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Expr(q.expr).LegendFormat(q.legend).RefId(string(rune('A' + n)))
}

// steps are the limits in Grafana's form; below the first all is well.
func (p panel) steps() *dashboard.ThresholdsConfigBuilder {
	steps := []dashboard.Threshold{{Color: "green"}}
	for _, l := range p.lines {
		steps = append(steps, dashboard.Threshold{Value: cog.ToPtr(l.at), Color: l.color})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

func (p panel) stat() *stat.PanelBuilder {
	builder := stat.NewPanelBuilder().Title(p.title).Description(p.about).Datasource(source()).
		Unit(p.unit).Thresholds(p.steps()).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).Span(columns / 4).Height(4)
	for i, q := range p.queries {
		builder.WithTarget(q.target(i))
	}
	return builder
}

func (p panel) graph() *timeseries.PanelBuilder {
	width := uint32(columns / 2)
	if p.wide {
		width = columns
	}
	builder := timeseries.NewPanelBuilder().Title(p.title).Description(p.about).Datasource(source()).
		Unit(p.unit).Min(0).Span(width).Height(8).
		Legend(common.NewVizLegendOptionsBuilder().
			ShowLegend(true).DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementBottom).
			Calcs([]string{"lastNotNull", "max"})).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti))
	if p.stacked {
		builder.FillOpacity(30).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
	}
	if len(p.lines) > 0 {
		builder.Thresholds(p.steps()).
			ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
	}
	for i, q := range p.queries {
		builder.WithTarget(q.target(i))
	}
	return builder
}
