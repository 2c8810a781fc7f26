# Machines have no address of their own on the internet: they reach the registry,
# the database and the targets of tasks through a gateway.
resource "yandex_vpc_network" "fleet" {
  name = var.name
}

resource "yandex_vpc_gateway" "egress" {
  name = "${var.name}-egress"

  shared_egress_gateway {}
}

resource "yandex_vpc_route_table" "fleet" {
  name       = var.name
  network_id = yandex_vpc_network.fleet.id

  static_route {
    destination_prefix = "0.0.0.0/0"
    gateway_id         = yandex_vpc_gateway.egress.id
  }
}

resource "yandex_vpc_subnet" "fleet" {
  for_each = var.subnets

  name           = "${var.name}-${each.key}"
  zone           = each.key
  network_id     = yandex_vpc_network.fleet.id
  route_table_id = yandex_vpc_route_table.fleet.id
  v4_cidr_blocks = [each.value]
}

resource "yandex_vpc_security_group" "fleet" {
  name       = var.name
  network_id = yandex_vpc_network.fleet.id

  ingress {
    description    = "Health checks of the instance groups"
    protocol       = "TCP"
    port           = local.metrics_port
    v4_cidr_blocks = ["198.18.235.0/24", "198.18.248.0/24"]
  }

  ingress {
    description    = "Metrics and logins from inside"
    protocol       = "TCP"
    from_port      = 22
    to_port        = local.metrics_port
    v4_cidr_blocks = values(var.subnets)
  }

  egress {
    description    = "Registry, database and the targets of tasks"
    protocol       = "ANY"
    v4_cidr_blocks = ["0.0.0.0/0"]
  }
}
