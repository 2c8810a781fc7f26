data "yandex_compute_image" "machine" {
  family = "container-optimized-image"
}

locals {
  metrics_port = 9090

  # What a stop may take beyond the drain: giving back, recording, releasing.
  stop_margin  = 15
  stop_timeout = var.drain_timeout + local.stop_margin

  # What both kinds of machines are told.
  machine = {
    image          = local.image
    ydb_endpoint   = local.ydb_endpoint
    ydb_database   = local.ydb_database
    fleet_folder   = var.fleet_folder
    metrics_port   = local.metrics_port
    stop_timeout   = local.stop_timeout
    ssh_public_key = var.ssh_public_key
    agent_config = templatefile("${path.module}/templates/unified-agent.yaml.tftpl", {
      folder_id    = var.folder_id
      name         = var.name
      namespace    = var.metrics_namespace
      metrics_port = local.metrics_port
    })
  }

  worker_user_data = templatefile("${path.module}/templates/cloud-init.yaml.tftpl", merge(local.machine, {
    role = "worker"
    arguments = concat([
      "--concurrency", tostring(var.concurrency),
      "--drain-timeout", "${var.drain_timeout}s",
    ], var.worker_arguments)
  }))

  producer_user_data = templatefile("${path.module}/templates/cloud-init.yaml.tftpl", merge(local.machine, {
    role      = "producer"
    arguments = concat(["--drain-timeout", "${max(var.drain_timeout, 1)}s"], var.producers.arguments)
  }))
}

resource "yandex_compute_instance_group" "worker" {
  name                = "${var.name}-worker"
  folder_id           = var.folder_id
  service_account_id  = yandex_iam_service_account.manager.id
  deletion_protection = var.deletion_protection

  instance_template {
    platform_id        = "standard-v3"
    service_account_id = yandex_iam_service_account.worker.id
    name               = "${var.name}-worker-{instance.short_id}"
    hostname           = "${var.name}-worker-{instance.short_id}"

    resources {
      cores  = var.workers.cores
      memory = var.workers.memory_gb
    }

    boot_disk {
      initialize_params {
        image_id = data.yandex_compute_image.machine.id
        size     = 20
        type     = "network-ssd"
      }
    }

    network_interface {
      network_id         = yandex_vpc_network.fleet.id
      subnet_ids         = [for subnet in yandex_vpc_subnet.fleet : subnet.id]
      security_group_ids = [yandex_vpc_security_group.fleet.id]
      nat                = false
    }

    metadata = {
      user-data = local.worker_user_data
    }
  }

  allocation_policy {
    zones = keys(var.subnets)
  }

  # By the load of the whole group: partitions do not care for zones.
  scale_policy {
    auto_scale {
      auto_scale_type        = "REGIONAL"
      initial_size           = var.workers.min_per_zone * length(var.subnets)
      min_zone_size          = var.workers.min_per_zone
      max_size               = var.workers.max
      measurement_duration   = 60
      warmup_duration        = 60
      stabilization_duration = 300
      cpu_utilization_target = var.cpu_target

      dynamic "custom_rule" {
        for_each = var.oldest_age_target == null ? [] : [var.oldest_age_target]

        content {
          rule_type   = "UTILIZATION"
          metric_type = "GAUGE"
          metric_name = "${var.metrics_namespace}.taskfleet_worker_oldest_pending_age_seconds"
          target      = custom_rule.value
          labels = {
            fleet = var.name
          }
        }
      }
    }
  }

  # One machine at a time leaves: its partitions move once.
  deploy_policy {
    max_unavailable  = 1
    max_expansion    = 1
    max_deleting     = 1
    startup_duration = 0
    strategy         = "opportunistic"
  }

  # /healthz answers 503 until the worker has joined the fleet.
  health_check {
    interval            = 10
    timeout             = 5
    healthy_threshold   = 2
    unhealthy_threshold = 6

    http_options {
      port = local.metrics_port
      path = "/healthz"
    }
  }

  max_checking_health_duration = 300

  depends_on = [
    terraform_data.migrate,
    yandex_ydb_database_iam_binding.editor,
    yandex_container_registry_iam_binding.puller,
    yandex_resourcemanager_folder_iam_member.manager,
    yandex_resourcemanager_folder_iam_member.metrics,
    yandex_iam_service_account_iam_member.manager,
  ]
}

resource "yandex_compute_instance_group" "producer" {
  count = var.producers.size > 0 ? 1 : 0

  name                = "${var.name}-producer"
  folder_id           = var.folder_id
  service_account_id  = yandex_iam_service_account.manager.id
  deletion_protection = var.deletion_protection

  instance_template {
    platform_id        = "standard-v3"
    service_account_id = yandex_iam_service_account.producer.id
    name               = "${var.name}-producer-{instance.short_id}"
    hostname           = "${var.name}-producer-{instance.short_id}"

    resources {
      cores  = var.producers.cores
      memory = var.producers.memory_gb
    }

    boot_disk {
      initialize_params {
        image_id = data.yandex_compute_image.machine.id
        size     = 20
        type     = "network-ssd"
      }
    }

    network_interface {
      network_id         = yandex_vpc_network.fleet.id
      subnet_ids         = [for subnet in yandex_vpc_subnet.fleet : subnet.id]
      security_group_ids = [yandex_vpc_security_group.fleet.id]
      nat                = false
    }

    metadata = {
      user-data = local.producer_user_data
    }
  }

  allocation_policy {
    zones = keys(var.subnets)
  }

  scale_policy {
    fixed_scale {
      size = var.producers.size
    }
  }

  deploy_policy {
    max_unavailable = 1
    max_expansion   = 1
  }

  health_check {
    interval            = 10
    timeout             = 5
    healthy_threshold   = 2
    unhealthy_threshold = 6

    http_options {
      port = local.metrics_port
      path = "/healthz"
    }
  }

  depends_on = [
    terraform_data.migrate,
    yandex_ydb_database_iam_binding.editor,
    yandex_container_registry_iam_binding.puller,
    yandex_resourcemanager_folder_iam_member.manager,
    yandex_resourcemanager_folder_iam_member.metrics,
    yandex_iam_service_account_iam_member.manager,
  ]
}
