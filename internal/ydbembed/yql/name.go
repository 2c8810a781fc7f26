package yql

import "strings"

// reserved are the keywords that cannot be bare column names in an expression;
// in quotes, after a dot, in column lists and after AS any word can.
var reserved = wordSet(`
	ALL ANY AS ASSUME ASYMMETRIC BETWEEN BITCAST CASE CAST CUBE CURRENT_DATE CURRENT_TIME
	CURRENT_TIMESTAMP DISTINCT EMPTY_ACTION ERASE EXCEPT EXISTS FROM FULL HAVING HOP INTERSECT
	JSON_EXISTS JSON_QUERY JSON_VALUE LIMIT NOT NULL PROCESS REDUCE RETURN RETURNING ROLLUP
	SELECT STREAM SYMMETRIC UNBOUNDED UNION WHEN WHERE WINDOW WITHOUT`)

// notAlias are the keywords that end an expression or a source and so are no
// alias unless AS stands before them.
var notAlias = wordSet(`
	AND ANY AS ASC ASSUME BETWEEN BY COLLATE CROSS DESC ELSE END ESCAPE EXCEPT EXCLUSION FLATTEN
	FROM FULL GLOB GROUP HAVING ILIKE IN INNER INTERSECT INTO IS ISNULL JOIN LEFT LIKE LIMIT MATCH
	MATCH_RECOGNIZE NATURAL NOT NOTNULL OFFSET ON OR ORDER OUTER OVER PRESORT REGEXP RETURNING
	RIGHT RLIKE SAMPLE SELECT SEMI SET TABLESAMPLE THEN UNION USING VALUES VIEW WHEN WHERE
	WINDOW WITH WITHOUT XOR`)

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// identifier reads a name: any word, or one in backticks.
func (p *parser) identifier(what string) string {
	t := p.token()
	switch t.kind {
	case tokenWord:
		p.advance()
		return p.raw(t)
	case tokenQuoted:
		p.advance()
		return p.unquoteName(t)
	case tokenString:
		p.fail(t.pos(), "String literal can not be used here")
	}
	p.unexpected(what)
	return ""
}

// unquoteName takes the backticks off.
func (p *parser) unquoteName(t token) string {
	raw := p.text[t.start+1 : t.end-1]
	if !strings.ContainsAny(raw, "\\`") {
		if raw == "" {
			p.fail(t.pos(), "Empty name")
		}
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' || raw[i] == '`' { // the byte that follows stands for itself
			i++
		}
		b.WriteByte(raw[i])
	}
	return b.String()
}

// paramName reads $name and returns it without the $.
func (p *parser) paramName() string {
	p.expect("$")
	return p.identifier("a name after $")
}

// nameList reads (name, ..).
func (p *parser) nameList(what string) []string {
	p.expect("(")
	var names []string
	p.list(")", func() { names = append(names, p.identifier(what)) })
	if len(names) == 0 {
		p.unexpected(what)
	}
	return names
}

// alias reads [AS] name, or returns "".
func (p *parser) alias() string {
	if p.acceptWords("AS") {
		return p.identifier("an alias")
	}
	t := p.token()
	if t.kind == tokenQuoted || t.kind == tokenWord && !notAlias[strings.ToUpper(p.raw(t))] {
		return p.identifier("an alias")
	}
	return ""
}

// tableName reads a table's path and what may stand behind it.
func (p *parser) tableName() TableName {
	name := TableName{Node: p.node()}
	if p.is("@") {
		p.refuse(p.pos(), "An anonymous table (@name)")
	}
	name.Path = p.identifier("a table name")
	if p.is(".") || p.is(":") {
		p.refuse(p.pos(), "A cluster name before the table")
	}
	if p.words("VIEW") {
		if !p.acceptWords("VIEW", "PRIMARY", "KEY") {
			p.refuse(p.pos(), "VIEW (reading through a secondary index)")
		}
	}
	return name
}
