package wire

import (
	"context"
	"strconv"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Table"

	"github.com/taskfleet/taskfleet/internal/ydbembed/store"
)

// DescribeTable tells a table's columns, key, TTL and the settings that it was
// given. There is one partition, so there are no bounds and no statistics.
func (t *tableService) DescribeTable(_ context.Context, req *Ydb_Table.DescribeTableRequest) (*Ydb_Table.DescribeTableResponse, error) {
	path, err := absolutePath(t.database, req.GetPath())
	if err != nil {
		return nil, err
	}
	catalog := t.store.Catalog()
	entry, ok := catalog.Entry(path)
	if !ok {
		return nil, schemeError(path, store.ErrNotFound)
	}
	table, ok := catalog.Table(path)
	if !ok {
		return nil, schemeError(path, store.ErrNotTable)
	}
	result := &Ydb_Table.DescribeTableResult{
		Self: entryProto(entry), TtlSettings: ttlProto(table.TTL), StoreType: Ydb_Table.StoreType_STORE_TYPE_ROW,
	}
	for _, c := range table.Columns {
		result.Columns = append(result.Columns, columnMeta(c))
	}
	for _, i := range table.Key {
		result.PrimaryKey = append(result.PrimaryKey, table.Columns[i].Name)
	}
	describeSettings(table.Settings, result)
	op, err := operation(result)
	return &Ydb_Table.DescribeTableResponse{Operation: op}, err
}

func columnMeta(c store.Column) *Ydb_Table.ColumnMeta {
	notNull := c.NotNull
	meta := &Ydb_Table.ColumnMeta{Name: c.Name, Type: c.ValueType().Proto(), Family: c.Family, NotNull: &notNull}
	if c.Default != nil {
		meta.DefaultValue = &Ydb_Table.ColumnMeta_FromLiteral{
			FromLiteral: &Ydb.TypedValue{Type: c.Type.Proto(), Value: c.Default.Proto(c.Type)},
		}
	}
	return meta
}

func ttlProto(ttl *store.TTL) *Ydb_Table.TtlSettings {
	if ttl == nil {
		return nil
	}
	after := uint32(ttl.After.Seconds())
	if ttl.Unit == "" {
		return &Ydb_Table.TtlSettings{Mode: &Ydb_Table.TtlSettings_DateTypeColumn{
			DateTypeColumn: &Ydb_Table.DateTypeColumnModeSettings{ColumnName: ttl.Column, ExpireAfterSeconds: after},
		}}
	}
	unit := Ydb_Table.ValueSinceUnixEpochModeSettings_Unit_value["UNIT_"+ttl.Unit]
	return &Ydb_Table.TtlSettings{Mode: &Ydb_Table.TtlSettings_ValueSinceUnixEpoch{
		ValueSinceUnixEpoch: &Ydb_Table.ValueSinceUnixEpochModeSettings{
			ColumnName: ttl.Column, ColumnUnit: Ydb_Table.ValueSinceUnixEpochModeSettings_Unit(unit), ExpireAfterSeconds: after,
		},
	}}
}

// describeSettings puts each kept setting where DescribeTable has a field for
// it, and the others under their names among the attributes.
func describeSettings(settings []store.Setting, out *Ydb_Table.DescribeTableResult) {
	p := &Ydb_Table.PartitioningSettings{}
	out.PartitioningSettings = p
	for _, s := range settings {
		number, _ := strconv.ParseUint(s.Value, 10, 64)
		switch s.Name {
		case "AUTO_PARTITIONING_BY_SIZE":
			p.PartitioningBySize = flagProto(s.Value)
		case "AUTO_PARTITIONING_BY_LOAD":
			p.PartitioningByLoad = flagProto(s.Value)
		case "AUTO_PARTITIONING_PARTITION_SIZE_MB":
			p.PartitionSizeMb = number
		case "AUTO_PARTITIONING_MIN_PARTITIONS_COUNT":
			p.MinPartitionsCount = number
		case "AUTO_PARTITIONING_MAX_PARTITIONS_COUNT":
			p.MaxPartitionsCount = number
		case "KEY_BLOOM_FILTER":
			out.KeyBloomFilter = flagProto(s.Value)
		default:
			if out.Attributes == nil {
				out.Attributes = map[string]string{}
			}
			out.Attributes[s.Name] = s.Value
		}
	}
}

func flagProto(value string) Ydb.FeatureFlag_Status {
	if strings.EqualFold(value, "ENABLED") {
		return Ydb.FeatureFlag_ENABLED
	}
	return Ydb.FeatureFlag_DISABLED
}
