resource "yandex_ydb_database_serverless" "fleet" {
  name                = var.name
  description         = "Tables and coordination node of the fleet ${var.name}"
  deletion_protection = var.deletion_protection

  serverless_database {
    enable_throttling_rcu_limit = var.ydb_request_units > 0
    throttling_rcu_limit        = var.ydb_request_units
    storage_size_limit          = var.ydb_storage_gb
  }
}

locals {
  # grpcs://host:port and /path, as the programs take them.
  ydb_endpoint = "grpcs://${yandex_ydb_database_serverless.fleet.ydb_api_endpoint}"
  ydb_database = yandex_ydb_database_serverless.fleet.database_path
}

# The migration makes the tables, the coordination node and the settings. It is
# safe to repeat, runs again with every new image, and runs before any machine
# gets that image.
resource "terraform_data" "migrate" {
  triggers_replace = {
    database   = yandex_ydb_database_serverless.fleet.id
    image_tag  = var.image_tag
    folder     = var.fleet_folder
    partitions = var.partitions
  }

  provisioner "local-exec" {
    command = "\"$TASKCTL\" migrate up --endpoint \"$ENDPOINT\" --database \"$DATABASE\" --folder \"$FOLDER\" --partitions \"$PARTITIONS\" --dial-timeout 60s"

    environment = {
      TASKCTL                      = var.taskctl
      ENDPOINT                     = local.ydb_endpoint
      DATABASE                     = local.ydb_database
      FOLDER                       = var.fleet_folder
      PARTITIONS                   = tostring(var.partitions)
      YDB_ACCESS_TOKEN_CREDENTIALS = data.yandex_client_config.me.iam_token
    }
  }
}
