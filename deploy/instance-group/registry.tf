resource "yandex_container_registry" "fleet" {
  name = var.name
}

resource "yandex_container_repository" "taskfleet" {
  name = "${yandex_container_registry.fleet.id}/taskfleet"
}

# Images that nothing names any more, and all but the newest of the others.
resource "yandex_container_repository_lifecycle_policy" "taskfleet" {
  name          = "${var.name}-tidy"
  status        = "active"
  repository_id = yandex_container_repository.taskfleet.id

  rule {
    description   = "Untagged images go after two days"
    untagged      = true
    expire_period = "48h"
  }

  rule {
    description   = "The newest 20 images stay"
    tag_regexp    = ".*"
    expire_period = "720h"
    retained_top  = 20
  }
}

locals {
  image = "cr.yandex/${yandex_container_repository.taskfleet.name}:${var.image_tag}"
}
