output "endpoint" {
  description = "Connection string of the database, for --endpoint or YDB_CONNECTION_STRING."
  value       = "${local.ydb_endpoint}${local.ydb_database}"
}

output "repository" {
  description = "Where the image is pushed to, without a tag."
  value       = "cr.yandex/${yandex_container_repository.taskfleet.name}"
}

output "image" {
  description = "The image that the machines run."
  value       = local.image
}

output "worker_group" {
  description = "Id of the worker group."
  value       = yandex_compute_instance_group.worker.id
}

output "producer_group" {
  description = "Id of the producer group; null without one."
  value       = one(yandex_compute_instance_group.producer[*].id)
}
