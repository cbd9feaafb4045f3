terraform {
  required_providers { kubernetes = { source = "hashicorp/kubernetes", version = "1.13.4" } }
}
provider "kubernetes" {
  config_path = "~/.kube/config"
}
variable "password" {
  default = "s3cret"
}
resource "kubernetes_deployment" "berlin" {
  metadata { name = "berlin" }
  spec {
    replicas = 3
    selector { match_labels = { app = "berlin" } }
    template {
      metadata { labels = { app = "berlin" } }
      spec {
        container {
          name  = "shop"
          image = "registry.acme.example/shop:1.4.0"
        }
      }
    }
  }
}
resource "kubernetes_deployment" "paris" {
  metadata { name = "paris" }
  spec {
    replicas = 3
    selector { match_labels = { app = "paris" } }
    template {
      metadata { labels = { app = "paris" } }
      spec {
        container {
          name  = "shop"
          image = "registry.acme.example/shop:1.4.0"
        }
      }
    }
  }
}
resource "kubernetes_stateful_set" "db" {
  metadata { name = "berlin-db" }
  spec {
    service_name = "berlin-db"
    replicas     = 1
    selector { match_labels = { app = "berlin-db" } }
    template {
      metadata { labels = { app = "berlin-db" } }
      spec {
        container {
          name  = "postgres"
          image = "postgres:17.2"
        }
      }
    }
    volume_claim_template {
      metadata { name = "data" }
      spec {
        access_modes = ["ReadWriteOnce"]
        resources { requests = { storage = "20Gi" } }
      }
    }
  }
}
resource "kubernetes_service" "berlin" {
  metadata { name = "berlin" }
  spec {
    type     = "LoadBalancer"
    selector = { app = "berlin" }
    port { port = 80 }
  }
}
resource "kubernetes_config_map" "settings" {
  metadata { name = "berlin-settings" }
  data = { LOG_LEVEL = "info" }
}
resource "kubernetes_secret" "credentials" {
  metadata { name = "berlin-db" }
  data = { password = var.password }
}
resource "kubernetes_config_map" "old" {
  metadata { name = "berlin-old" }
  data = { a = "b" }
}
