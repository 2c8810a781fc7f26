variable "cloud_id" {
  description = "Cloud that everything belongs to."
  type        = string
}

variable "folder_id" {
  description = "Folder that everything is made in."
  type        = string
}

variable "name" {
  description = "Prefix of all names, and the fleet's label in the metrics."
  type        = string
  default     = "taskfleet"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name))
    error_message = "The name must be 3 to 32 lower-case letters, digits and hyphens, a letter first."
  }
}

variable "fleet_folder" {
  description = "Folder of the database that holds the fleet's tables (--folder)."
  type        = string
  default     = "taskfleet"
}

variable "partitions" {
  description = "Logical partitions of the fleet. Fixed by the first migration."
  type        = number
  default     = 256
}

variable "image_tag" {
  description = "Tag of the image in the registry that this module makes."
  type        = string
}

variable "taskctl" {
  description = "Program that runs the migration, on the machine that runs Terraform."
  type        = string
  default     = "../../bin/taskctl"
}

variable "subnets" {
  description = "Availability zones to use, and the address range of each zone's subnet."
  type        = map(string)
  default = {
    "ru-central1-a" = "10.130.0.0/24"
    "ru-central1-b" = "10.131.0.0/24"
    "ru-central1-d" = "10.132.0.0/24"
  }
}

variable "deletion_protection" {
  description = "Protect the database and the groups from being deleted."
  type        = bool
  default     = true
}

variable "ydb_request_units" {
  description = "Limit of the database in request units per second; 0 is no limit. A task costs about 12."
  type        = number
  default     = 0
}

variable "ydb_storage_gb" {
  description = "Largest size of the database."
  type        = number
  default     = 50
}

variable "workers" {
  description = "Size of the worker group. It grows by CPU, and by the age of the oldest task if oldest_age_target is set."
  type = object({
    min_per_zone = optional(number, 1)
    max          = optional(number, 12)
    cores        = optional(number, 2)
    memory_gb    = optional(number, 2)
  })
  default = {}
}

variable "cpu_target" {
  description = "CPU load, in percent, that the worker group is kept at."
  type        = number
  default     = 70
}

variable "oldest_age_target" {
  description = "Optional: the age, in seconds, of the oldest pending task that the worker group is kept at. Set it when handlers wait more than they compute: CPU says little then. null is off."
  type        = number
  default     = null
}

variable "concurrency" {
  description = "Handlers that one worker runs at once (--concurrency)."
  type        = number
  default     = 64
}

variable "worker_arguments" {
  description = "Further arguments of the workers: which hosts tasks may reach, credentials, limits."
  type        = list(string)
  default     = []
}

variable "drain_timeout" {
  description = "Seconds that running tasks get when a worker stops (--drain-timeout). The unit's stop timeout follows from it."
  type        = number
  default     = 30

  validation {
    condition     = var.drain_timeout >= 0 && var.drain_timeout <= 60
    error_message = "A machine that is stopped is given little more than a minute: drain_timeout must be 0..60."
  }
}

variable "producers" {
  description = "Number of producer machines, and the producer's arguments. 0 machines: your own services enqueue."
  type = object({
    size      = optional(number, 0)
    arguments = optional(list(string), [])
    cores     = optional(number, 2)
    memory_gb = optional(number, 2)
  })
  default = {}

  validation {
    condition     = var.producers.size == 0 || length(var.producers.arguments) > 0
    error_message = "producers.arguments must say what to produce, such as [\"--target-url\", \"https://example.org/hook\"]."
  }
}

variable "metrics_namespace" {
  description = "Prefix of the metrics in Monitoring."
  type        = string
  default     = "fleet"
}

variable "ssh_public_key" {
  description = "Optional: a key that may log in as user taskfleet, from inside the network."
  type        = string
  default     = ""
}
