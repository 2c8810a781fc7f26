# Three accounts, each with the least that works:
#   worker, producer   read and write the one database, pull from the one
#                      registry, write metrics
#   manager            what an instance group needs to make and end machines
resource "yandex_iam_service_account" "worker" {
  name = "${var.name}-worker"
}

resource "yandex_iam_service_account" "producer" {
  name = "${var.name}-producer"
}

resource "yandex_iam_service_account" "manager" {
  name = "${var.name}-manager"
}

locals {
  machines = {
    worker   = yandex_iam_service_account.worker.id
    producer = yandex_iam_service_account.producer.id
  }
}

# There is no role for rows alone: ydb.editor may also change the schema, but only
# in this database.
resource "yandex_ydb_database_iam_binding" "editor" {
  database_id = yandex_ydb_database_serverless.fleet.id
  role        = "ydb.editor"
  members     = [for id in values(local.machines) : "serviceAccount:${id}"]
}

resource "yandex_container_registry_iam_binding" "puller" {
  registry_id = yandex_container_registry.fleet.id
  role        = "container-registry.images.puller"
  members     = [for id in values(local.machines) : "serviceAccount:${id}"]
}

# Metrics are written to a folder, not to a resource in it.
resource "yandex_resourcemanager_folder_iam_member" "metrics" {
  for_each = local.machines

  folder_id = var.folder_id
  role      = "monitoring.editor"
  member    = "serviceAccount:${each.value}"
}

resource "yandex_resourcemanager_folder_iam_member" "manager" {
  # monitoring.viewer reads the custom metric that the group scales by.
  for_each = toset(["compute.editor", "vpc.user", "monitoring.viewer"])

  folder_id = var.folder_id
  role      = each.value
  member    = "serviceAccount:${yandex_iam_service_account.manager.id}"
}

# The manager gives its accounts to the machines, and no others.
resource "yandex_iam_service_account_iam_member" "manager" {
  for_each = local.machines

  service_account_id = each.value
  role               = "iam.serviceAccounts.user"
  member             = "serviceAccount:${yandex_iam_service_account.manager.id}"
}
